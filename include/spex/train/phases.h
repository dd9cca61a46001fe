// The two phases as functions: an estimator and its scores, and a final network trained on them.
#pragma once

#include <spex/train/problem.h>
#include <spex/train/trainer.h>

namespace spex {

NetworkOptions estimator_options(const Config& config, const Dataset& data,
                                 const Objective& objective, const AttentionGraph& graph);
NetworkOptions final_options(const Config& config, const Dataset& data, const Objective& objective,
                             const AttentionGraph& graph);

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

// Logits of all nodes (or of those asked for; the others are NaN) by a trained network, for one
// sample.
Matrix final_logits(Network& network, const Problem& problem, const Scores* scores,
                    const Config& config, size_t seed, size_t epoch, std::span<const NodeId> nodes);

}  // namespace spex
