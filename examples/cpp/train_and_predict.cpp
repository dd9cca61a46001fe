// Trains a network on a graph that is made here, and predicts with it.
#include <spex/core/error.h>
#include <spex/graph/builder.h>
#include <spex/run/predict.h>
#include <spex/run/run.h>

#include <cstdio>

int main() try {
  // A ring of 300 nodes; a node's class is which third of the ring it is in.
  constexpr spex::NodeId kNodes = 300;
  std::vector<spex::NodeId> sources, targets;
  spex::Buffer<float> features(2 * kNodes, spex::MemoryTag::features);
  spex::Buffer<int32_t> classes(kNodes, spex::MemoryTag::other);
  for (spex::NodeId i = 0; i < kNodes; ++i) {
    sources.push_back(i);
    targets.push_back((i + 1) % kNodes);
    classes[i] = static_cast<int32_t>(3 * i / kNodes);
    features[2 * i] = classes[i] == 0 ? 1.0F : 0.0F;
    features[2 * i + 1] = classes[i] == 1 ? 1.0F : 0.0F;
  }
  spex::Dataset data;
  data.name = "ring";
  data.graph = spex::build_csr(kNodes, sources, targets).graph;
  data.features = spex::DenseFeatures{kNodes, 2, std::move(features)};
  data.labels = {spex::Task::classes, 3, std::move(classes), {}};

  spex::Config config("gcn");
  config.data = spex::kDataInside;
  config.final().recipe.epochs = 20;
  spex::RunOptions options;
  options.out = "ring-run";
  options.resume = std::filesystem::exists(options.out / "config.toml");
  spex::run_training(spex::make_problem(data, config), config, options, {});

  spex::Predictor predictor = spex::open_run(options.out, data);
  std::vector<spex::NodeId> nodes = {250, 50, 150};
  spex::Matrix p = predictor.probabilities(nodes);
  for (size_t i = 0; i < nodes.size(); ++i)
    std::printf("node %u: %.3f %.3f %.3f\n", nodes[i], p(i, 0), p(i, 1), p(i, 2));
} catch (const spex::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
