#include <spex/core/log.h>
#include <spex/core/stopwatch.h>
#include <spex/graph/subgraph.h>
#include <spex/sample/saint.h>

#include <cmath>
#include <optional>

#include "train/batch_kinds.h"

namespace spex {
namespace {

SubgraphOptions with_draws(SubgraphOptions options, size_t draws) {
  options.draws = draws;
  return options;
}

// The factors that the subgraph's nodes have in the whole graph: its edges' weights make up for
// the neighbours that are not there.
LocalFactors factors_of(const AttentionGraph& local, std::span<const NodeId> nodes) {
  auto buffer = [&] { return Buffer<float>(nodes.size(), MemoryTag::graph); };
  LocalFactors factors{buffer(), buffer(), buffer()};
  for (size_t i = 0; i < nodes.size(); ++i) {
    auto size = static_cast<float>(local.offsets[nodes[i] + 1] - local.offsets[nodes[i]]);
    factors.source[i] = factors.symmetric[i] = 1.0F / std::sqrt(size);
    factors.mean[i] = 1.0F / size;
  }
  return factors;
}

class SubgraphBatches : public Batches {
 public:
  SubgraphBatches(const Ground& ground, std::span<const NodeId> train, const Needs& needs,
                  const BatchOptions& options)
      : ground_(ground),
        sampler_(ground.local, with_draws(needs.subgraphs, options.batch_size), options.seed),
        evaluation_(whole_evaluation(ground)),
        train_count_(train.size()),
        trained_(ground.data.nodes(), false) {
    for (NodeId node : train) trained_[node] = true;
    if (train.empty()) return;  // for prediction
    Stopwatch watch;
    counts_ = count_subgraphs(sampler_);
    log("{} subgraphs drawn to know how often nodes and edges are in one: {:.1f} s",
        counts_->subgraphs, watch.seconds());
  }

  void train(size_t epoch, const Use& use) override {
    for (size_t step = 0; step < sampler_.steps(); ++step) use_subgraph(epoch, step, use);
  }
  void evaluate(size_t epoch, std::span<const NodeId> nodes, const Use& use) override {
    evaluation_->evaluate(epoch, nodes, use);
  }
  bool evaluates_all() const override { return true; }

 private:
  void use_subgraph(size_t epoch, size_t step, const Use& use) const {
    Stopwatch watch;
    std::vector<NodeId> nodes =
        sampler_.draw(static_cast<uint32_t>(epoch), static_cast<uint32_t>(step));
    std::vector<NodeId> rows;
    for (size_t i = 0; i < nodes.size(); ++i)
      if (trained_[nodes[i]]) rows.push_back(static_cast<NodeId>(i));
    if (rows.empty()) return;
    AttentionGraph local = induced_subgraph(ground_.local, nodes);
    SubgraphWeights weights = subgraph_weights(ground_.local, *counts_, nodes, local);
    // The loss is divided by the number of rows; in expectation it shall be the mean over all
    // training nodes.
    float share = static_cast<float>(rows.size()) / static_cast<float>(train_count_);
    for (float& weight : weights.losses) weight *= share;
    Neighbourhood neighbourhood;
    Neighbourhood::Layer& layer = neighbourhood.layers.emplace_back();
    layer.local = Pattern::all_rows(local, local);
    layer.factors = std::make_shared<const LocalFactors>(factors_of(ground_.local, nodes));
    layer.edge_weights = weights.edges.span();
    layer.edge_weights_back = weights.edges_back.span();
    BatchFeatures features(ground_.data.features, nodes);
    use({features.input(),
         &neighbourhood,
         nodes,
         rows,
         weights.losses.span(),
         watch.seconds(),
         {}});
  }

  const Ground& ground_;
  SubgraphSampler sampler_;
  std::unique_ptr<Batches> evaluation_;
  std::optional<SubgraphCounts> counts_;
  size_t train_count_;
  std::vector<bool> trained_;
};

}  // namespace

std::unique_ptr<Batches> subgraph_batches(const Ground& ground, std::span<const NodeId> train,
                                          const Needs& needs, const BatchOptions& options) {
  return std::make_unique<SubgraphBatches>(ground, train, needs, options);
}

}  // namespace spex
