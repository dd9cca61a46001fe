#include <spex/core/stopwatch.h>
#include <spex/core/threads.h>

#include <algorithm>
#include <future>

#include "train/batch_kinds.h"
#include "train/sampled_neighbours.h"

namespace spex {

SampledNeighbours::SampledNeighbours(const Ground& ground, const SamplingOptions& options,
                                     bool with_local, uint64_t seed)
    : options_(options) {
  const Scores* scores = ground.scores_or_null();
  if (scores && options.truncate > 0)
    scores = &truncated_.emplace(truncate(*scores, ground.attention, options.truncate));
  if (!options.degrees.empty()) attention_.emplace(ground.attention, scores, options.kind, seed);
  if (with_local && !options.local.empty())
    local_.emplace(Sampler::with_self_loops(ground.local, seed));
  builder_.emplace(attention_ ? &*attention_ : nullptr, options.degrees,
                   local_ ? &*local_ : nullptr, options.local, options.log_scores);
}

namespace {

// A batch with its features, and the time its preparation took.
struct Prepared {
  Batch batch;
  std::unique_ptr<BatchFeatures> features;
  double seconds = 0;
};

class SampledBatches : public Batches {
 public:
  SampledBatches(const Ground& ground, std::span<const NodeId> train, const Needs& needs,
                 const BatchOptions& options)
      : ground_(ground),
        train_(train),
        options_(options),
        neighbours_(ground, needs.sampling, needs.local, options.seed),
        places_(first_nodes(options.batch_size)) {
    if (needs.evaluates_whole()) whole_ = whole_evaluation(ground);
  }

  void train(size_t epoch, const Use& use) override {
    for_batches(shuffled(train_, options_.seed, epoch), epoch, use);
  }
  void evaluate(size_t epoch, std::span<const NodeId> nodes, const Use& use) override {
    if (whole_) return whole_->evaluate(epoch, nodes, use);
    for_batches({nodes.begin(), nodes.end()}, epoch, use);
  }
  bool evaluates_all() const override { return whole_ != nullptr; }

 private:
  Prepared prepare(std::span<const NodeId> targets, uint32_t sample) {
    Stopwatch watch;
    Prepared prepared;
    prepared.batch = neighbours_.builder().build(targets, sample);
    prepared.features =
        std::make_unique<BatchFeatures>(ground_.data.features, prepared.batch.nodes);
    prepared.seconds = watch.seconds();
    return prepared;
  }

  void use_batch(const Prepared& prepared, const Use& use) const {
    const Batch& batch = prepared.batch;
    Neighbourhood neighbourhood =
        sampled_neighbourhood(batch.layers, batch.local, ground_.graphs().local, batch.nodes);
    std::span<const NodeId> targets(batch.nodes.data(), batch.targets);
    use({prepared.features->input(),
         &neighbourhood,
         targets,
         std::span(places_).first(batch.targets),
         {},
         prepared.seconds,
         {}});
  }

  // While one batch is used the next one is prepared on another thread.
  void for_batches(const std::vector<NodeId>& nodes, size_t epoch, const Use& use) {
    size_t size = options_.batch_size;
    auto start_preparing = [&](size_t begin) {
      std::span<const NodeId> targets(nodes.data() + begin, std::min(size, nodes.size() - begin));
      return std::async(std::launch::async, [this, targets, sample = neighbours_.sample_of(epoch)] {
        SerialScope alone;  // the others compute
        return prepare(targets, sample);
      });
    };
    std::future<Prepared> next;
    if (!nodes.empty()) next = start_preparing(0);
    for (size_t begin = 0; begin < nodes.size(); begin += size) {
      Prepared current = next.get();
      if (begin + size < nodes.size()) next = start_preparing(begin + size);
      use_batch(current, use);
    }
  }

  const Ground& ground_;
  std::span<const NodeId> train_;
  BatchOptions options_;
  SampledNeighbours neighbours_;
  std::vector<NodeId> places_;
  std::unique_ptr<Batches> whole_;  // what evaluates, unless it is over samples too
};

}  // namespace

std::unique_ptr<Batches> sampled_batches(const Ground& ground, std::span<const NodeId> train,
                                         const Needs& needs, const BatchOptions& options) {
  return std::make_unique<SampledBatches>(ground, train, needs, options);
}

}  // namespace spex
