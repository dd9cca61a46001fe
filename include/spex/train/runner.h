// One epoch of training and one evaluation of any model, over whatever batches it is trained with.
// The loop around it is in trainer.h.
#pragma once

#include <spex/train/batches.h>
#include <spex/train/objective.h>
#include <spex/train/optimizer.h>

#include <string>

namespace spex {

// What an epoch is run with.
struct EpochSettings {
  size_t epoch = 0;
  double learning_rate = 0;
  float temperature = 1.0F;
};

struct TrainedEpoch {
  double loss = 0;  // NaN: a step failed, and nothing has changed since
  double sample_seconds = 0;
};

// What is trained, and how; everything must outlive the runner.
struct Training {
  Model& model;
  Objective& objective;
  Adam& optimiser;
  Batches& batches;
  size_t nodes = 0;
  double clip = 1.0;
  uint64_t seed = 0;  // of dropout
};

class Runner {
 public:
  explicit Runner(Training training) : t_(training) {}

  TrainedEpoch train(const EpochSettings& settings);
  // Logits of all nodes; rows that were not asked for are NaN, unless all come at no extra cost.
  Matrix evaluate(const EpochSettings& settings, std::span<const NodeId> nodes);
  // Runs a forward pass of training and returns the first stage whose values are not finite.
  std::string find_not_finite(const EpochSettings& settings);

 private:
  Pass training_pass(const EpochSettings& settings) const;
  double train_step(const Step& step, const EpochSettings& settings);

  Training t_;
};

}  // namespace spex
