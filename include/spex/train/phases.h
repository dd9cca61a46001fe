// The two phases as functions: an estimator and its scores, and a final network trained on them.
#pragma once

#include <spex/train/problem.h>
#include <spex/train/trainer.h>

#include <optional>

namespace spex {

NetworkOptions estimator_options(const Config& config, size_t inputs, size_t outputs,
                                 const AttentionGraph& graph);
NetworkOptions final_options(const Config& config, size_t inputs, size_t outputs,
                             const AttentionGraph& graph);

// A sampler and the batches drawn with it. Graph and scores must outlive it; scores may be null for
// uniform sampling.
class SampledNeighbourhoods {
 public:
  SampledNeighbourhoods(const AttentionGraph& graph, const Scores* scores,
                        const FinalConfig& config, size_t seed);
  BatchBuilder& builder() { return builder_; }

 private:
  std::optional<Scores> truncated_;
  Sampler sampler_;
  BatchBuilder builder_;
};

// Trains with this seed until done (true) or told to stop (false). On success the network is the
// best one.
bool train_estimator(Network& network, const Problem& problem, const Config& config, size_t seed,
                     TrainState& state, const TrainerHooks& hooks);
bool train_final(Network& network, const Problem& problem, const Scores* scores,
                 const Config& config, size_t seed, TrainState& state, const TrainerHooks& hooks);

// The attention scores of a trained estimator, at the temperature of its best epoch.
Scores estimate_scores(Network& estimator, const AttentionGraph& graph,
                       const AttentionGraph& transposed, const Features& features,
                       float temperature);

}  // namespace spex
