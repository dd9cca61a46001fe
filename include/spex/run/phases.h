// One phase of a method as functions: the model, its training, and the scores it gives the next.
#pragma once

#include <spex/run/problem.h>
#include <spex/train/trainer.h>

#include <optional>

namespace spex {

// What a model of this method looks like on this ground.
Shape shape_of(const Ground& ground, const Config& config);

// Trains with this seed until done (true) or told to stop (false). On success the model is the best
// one.
bool train_phase(const Phase& phase, Model& model, const Problem& problem, const Config& config,
                 size_t seed, TrainState& state, const TrainerHooks& hooks);

// The attention scores of a trained model with one head, at the temperature of its best epoch.
Scores attention_scores(Model& model, const Phase& phase, const Ground& ground, float temperature);

// What tries of a scorer are compared by: its own validation metric where each of its layers sees
// only neighbours drawn by its scores, as many as the final network draws; the mean over samples.
double validation_of_samples(Model& model, const Phase& phase, const Problem& problem,
                             const Config& config, float temperature);
constexpr double kPerfect = 1.0;  // no metric goes beyond

// Trains the first phase of a configuration whose scorers were told (tell_scorers), as often as it
// asks for or until none can be better, and takes the scores of the best try. Nothing if told to
// stop.
struct Estimate {
  Scores scores;
  double validation = 0, test = 0;
};
std::optional<Estimate> estimate_scores(const Problem& problem, const Config& config,
                                        const TrainerHooks& hooks);

// Logits of `nodes`, in their order, with the sample of this epoch. batch 0: as in training, or
// what is best for a few nodes.
Matrix predict_logits(const Phase& phase, Model& model, const Ground& ground, size_t seed,
                      size_t epoch, float temperature, std::span<const NodeId> nodes, size_t batch);

// The same of the last stage before the outputs that has a row for each node; without columns where
// the model has no such stage.
Matrix predict_embeddings(const Phase& phase, Model& model, const Ground& ground, size_t seed,
                          size_t epoch, float temperature, std::span<const NodeId> nodes,
                          size_t batch);

}  // namespace spex
