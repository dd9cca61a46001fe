#include <spex/graph/subgraph.h>

#include <algorithm>

#include "train/batch_kinds.h"

namespace spex {
namespace {

class RandomNodeBatches : public Batches {
 public:
  RandomNodeBatches(const Ground& ground, std::span<const NodeId> train,
                    const BatchOptions& options)
      : ground_(ground),
        options_(options),
        evaluation_(whole_evaluation(ground)),
        all_(first_nodes(ground.data.nodes())),
        trained_(ground.data.nodes(), false) {
    for (NodeId node : train) trained_[node] = true;
  }

  void train(size_t epoch, const Use& use) override {
    std::vector<NodeId> order = shuffled(all_, options_.seed, epoch);
    for (size_t begin = 0; begin < order.size(); begin += options_.batch_size) {
      size_t count = std::min(options_.batch_size, order.size() - begin);
      use_batch(std::span(order).subspan(begin, count), use);
    }
  }
  void evaluate(size_t epoch, std::span<const NodeId> nodes, const Use& use) override {
    evaluation_->evaluate(epoch, nodes, use);
  }
  bool evaluates_all() const override { return true; }

 private:
  void use_batch(std::span<const NodeId> nodes, const Use& use) const {
    std::vector<NodeId> rows;
    for (size_t i = 0; i < nodes.size(); ++i)
      if (trained_[nodes[i]]) rows.push_back(static_cast<NodeId>(i));
    if (rows.empty()) return;
    AttentionGraph attention, transposed, local;
    Graphs graphs;
    if (ground_.graphs().attention) {
      attention = induced_subgraph(ground_.attention, nodes);
      transposed = transpose(attention);
      graphs = {&attention, &transposed, nullptr};
    }
    if (ground_.graphs().local) {
      local = induced_subgraph(ground_.local, nodes);
      graphs.local = &local;
    }
    Neighbourhood neighbourhood = whole_neighbourhood(graphs);
    BatchFeatures features(ground_.data.features, nodes);
    use({features.input(), &neighbourhood, nodes, rows, {}, 0, {}});
  }

  const Ground& ground_;
  BatchOptions options_;
  std::unique_ptr<Batches> evaluation_;
  std::vector<NodeId> all_;
  std::vector<bool> trained_;
};

}  // namespace

std::unique_ptr<Batches> random_node_batches(const Ground& ground, std::span<const NodeId> train,
                                             const BatchOptions& options) {
  return std::make_unique<RandomNodeBatches>(ground, train, options);
}

}  // namespace spex
