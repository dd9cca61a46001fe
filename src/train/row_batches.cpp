#include <algorithm>

#include "train/batch_kinds.h"

namespace spex {
namespace {

class RowBatches : public Batches {
 public:
  RowBatches(const Ground& ground, std::span<const NodeId> train, const BatchOptions& options)
      : ground_(ground),
        train_(train),
        options_(options),
        places_(first_nodes(options.batch_size)) {}

  void train(size_t epoch, const Use& use) override {
    for_batches(shuffled(train_, options_.seed, epoch), use);
  }
  void evaluate(size_t, std::span<const NodeId> nodes, const Use& use) override {
    for_batches({nodes.begin(), nodes.end()}, use);
  }
  bool evaluates_all() const override { return false; }

 private:
  void for_batches(const std::vector<NodeId>& nodes, const Use& use) const {
    Neighbourhood nobody;
    for (size_t begin = 0; begin < nodes.size(); begin += options_.batch_size) {
      size_t count = std::min(options_.batch_size, nodes.size() - begin);
      std::span<const NodeId> targets = std::span(nodes).subspan(begin, count);
      BatchFeatures features(ground_.data.features, targets);
      use({features.input(), &nobody, targets, std::span(places_).first(count), {}, 0, {}});
    }
  }

  const Ground& ground_;
  std::span<const NodeId> train_;
  BatchOptions options_;
  std::vector<NodeId> places_;
};

}  // namespace

std::unique_ptr<Batches> row_batches(const Ground& ground, std::span<const NodeId> train,
                                     const BatchOptions& options) {
  return std::make_unique<RowBatches>(ground, train, options);
}

}  // namespace spex
