#include <spex/core/files.h>
#include <spex/core/log.h>
#include <spex/core/random.h>
#include <spex/graph/builder.h>
#include <spex/graph/edge_values.h>
#include <spex/run/predict.h>

#include <sstream>

#include "run/support.h"
#include "same_run.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

constexpr size_t kNodes = 400;

// Every node has a colour, which is its feature, and a partner, whose colour is its label. Eight
// random edges per node look like the one to the partner, but for the edge's weight.
Dataset partners(uint64_t seed = 0, size_t weights = 1) {
  Random random(seed, Purpose::test);
  std::vector<NodeId> from, to;
  std::vector<float> values;
  auto join = [&](size_t a, size_t b, double weight) {
    from.push_back(static_cast<NodeId>(a));
    to.push_back(static_cast<NodeId>(b));
    double noise = random.normal(10'000 + from.size());
    for (size_t w = 0; w < weights; ++w) values.push_back(static_cast<float>(weight + 30 * noise));
  };
  for (size_t i = 0; i < kNodes; i += 2) join(i, i + 1, 900);
  for (size_t e = 0; e < 4 * kNodes; ++e) {
    size_t a = random.below(kNodes, 20'000 + 2 * e), b = random.below(kNodes, 20'001 + 2 * e);
    if (a / 2 != b / 2) join(a, b, 400);
  }
  Dataset data;
  data.name = data.source = "partners";
  data.graph = build_csr(kNodes, from, to).graph;
  data.edge_feature_count = weights;
  data.edge_features =
      place_edge_values(data.graph, from, to, values, weights, EdgeCombine::mean, {});
  Buffer<float> colours(kNodes, MemoryTag::features);
  Buffer<int32_t> classes(kNodes, MemoryTag::other);
  for (size_t i = 0; i < kNodes; ++i) {
    classes[i ^ 1] = random.uniform(i) < 0.5 ? 0 : 1;
    colours[i] = classes[i ^ 1] == 0 ? -1.0F : 1.0F;
  }
  data.features = DenseFeatures{kNodes, 1, std::move(colours)};
  data.labels.outputs = 2;
  data.labels.classes = std::move(classes);
  return data;
}

Dataset without_weights(Dataset data) {
  data.edge_feature_count = 0;
  data.edge_features = {};
  return data;
}

Config partner_config(const std::string& model) {
  Config config(model);
  config.data = "partners.safetensors";
  config.threads = 2;
  config.expander.degree = 4;
  for (Phase& phase : config.phases) {
    phase.recipe.epochs = 50;
    phase.recipe.learning_rate = 0.02;
  }
  if (model == "exphormer") {
    auto& options = config.options<ExphormerOptions>(model);
    options.layers = 1;
    options.width = 16;
    options.dropout = 0;
  } else {
    final_options(config).degrees = {6};
    final_options(config).width = 16;
    final_options(config).dropout = 0;
    final_options(config).pre_layers = 0;
    estimator_options(config).width = 16;  // a narrow one may lose the only feature's sign
    estimator_options(config).pre_layers = 0;
  }
  return config;
}

RunResult train(const Dataset& data, const Config& config, const std::filesystem::path& out,
                const RunHooks& hooks = {}, RunOptions options = {}) {
  options.out = out;
  return run_training(make_problem(data, config), config, options, hooks);
}

std::string csv_of(const Predictions& predictions) {
  std::ostringstream text;
  write_csv(text, predictions);
  return text.str();
}

TEST(EdgeFeatureRun, TellsWhatOnlyTheEdgesSay) {
  TemporaryFolder folder;
  for (const char* model : {"exphormer", "spexphormer"}) {
    SCOPED_TRACE(model);
    Config config = partner_config(model);
    RunResult with = train(partners(), config, folder / model);
    RunResult without =
        train(without_weights(partners()), config, folder / (std::string(model) + "-without"));
    EXPECT_GT(with.record.summary.test_mean, 0.95);
    EXPECT_LT(without.record.summary.test_mean, 0.75);
  }
}

TEST(EdgeFeatureRun, PredictsAsItWasTrained) {
  TemporaryFolder folder;
  for (std::string model : {"exphormer", "spexphormer"}) {
    SCOPED_TRACE(model);
    Config config = partner_config(model);
    for (Phase& phase : config.phases) phase.recipe.epochs = 5;
    config.data = folder / "partners.safetensors";
    save_native(partners(0, 3), config.data);
    train(partners(0, 3), config, folder / model);
    PredictOptions options;
    options.run = folder / model;
    std::string own = read_text(folder / model / "predictions.csv");
    EXPECT_EQ(csv_of(predict(options)), own);
    options.data = config.data;  // as a graph that it has not seen
    EXPECT_EQ(csv_of(predict(options)), own);
    options.data = folder / "other.safetensors";
    save_native(partners(1, 3), options.data);
    EXPECT_EQ(predict(options).nodes.size(), kNodes);
    save_native(partners(1, 2), options.data);
    EXPECT_SAYS(predict(options), "have 2 features, but the run was trained with 3");
  }
}

TEST(EdgeFeatureRun, StoppedAndResumedGivesIdenticalFiles) {
  TemporaryFolder folder;
  Config config = partner_config("spexphormer");
  for (Phase& phase : config.phases) phase.recipe.epochs = 4;
  config.final().recipe.batch_size = 100;
  train(partners(), config, folder / "whole");
  for (size_t epochs : {2, 6}) {
    auto out = folder / ("stopped" + std::to_string(epochs));
    RunHooks hooks;
    hooks.stop = [left = std::make_shared<size_t>(epochs)] { return --*left == 0; };
    EXPECT_FALSE(train(partners(), config, out, hooks).finished);
    RunOptions resuming;
    resuming.resume = true;
    EXPECT_TRUE(train(partners(), config, out, {}, resuming).finished);
    expect_same_run(folder / "whole", out);
  }
}

TEST(EdgeFeatureRun, ModelsThatCannotUseThemSaySo) {
  std::string said;
  set_log_sink([&](std::string_view line) { said += std::string(line) + '\n'; });
  make_problem(partners(), Config("gcn"));
  make_problem(partners(), Config("spexphormer"));
  set_log_sink({});
  EXPECT_NE(said.find("features of edges: 1, which gcn cannot use"), std::string::npos) << said;
  EXPECT_NE(said.find("features of edges: 1, used by estimator and spexphormer"), std::string::npos)
      << said;
}

}  // namespace
}  // namespace spex
