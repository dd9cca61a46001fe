// The loop: epochs of training, evaluation, and the best state kept. It can be stopped after any
// epoch and continued later with the same result.
#pragma once

#include <spex/config/config.h>
#include <spex/train/runner.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace spex {

// One row of metrics.csv. Metrics are fractions; NaN where an epoch did not evaluate.
struct EpochRecord {
  std::string phase;  // the name of the phase: of its model
  size_t seed = 0;
  size_t epoch = 0;
  double train_loss = 0;
  double train = 0, validation = 0, test = 0;
  double learning_rate = 0;
  double temperature = 1;
  double seconds = 0;         // training and evaluation
  double sample_seconds = 0;  // of which drawing neighbours
  size_t peak_bytes = 0;      // of counted memory
};

// A model's whole state: parameters and what is not learned by gradient, by name.
using ModelState = std::map<std::string, std::vector<float>>;
ModelState save_state(const Model& model);
void load_state(Model& model, const ModelState& state);

// All that changes while training: what a checkpoint holds.
struct TrainState {
  size_t next_epoch = 0;
  ModelState model;
  ModelState first_moment, second_moment;
  uint64_t optimiser_steps = 0;
  size_t best_epoch = 0;
  double best_validation = -1e30;
  double best_test = 0;
  float best_temperature = 1;
  ModelState best;
};

// Keeps the model of an epoch in `state` if its score is the best so far: of equals the one with the
// sharpest attention, then the first.
void keep_if_best(TrainState& state, double score, const EpochRecord& record, const Model& model);

struct TrainerHooks {
  std::function<void(const EpochRecord&)> on_epoch;
  // Called after each epoch; true: save now. The state is what to save.
  std::function<bool(size_t epoch)> wants_checkpoint;
  std::function<void(const TrainState&)> checkpoint;
  std::function<bool()> stop;  // asked after each epoch
};

class Trainer {
 public:
  // All must outlive the trainer. `training.seed` names the rows of metrics.csv, too.
  Trainer(const Phase& phase, const Split& split, Training training);

  // Runs until the last epoch, or until told to stop; true if all epochs are done. Afterwards the
  // model is in its best state if all are done.
  bool run(TrainState& state, const TrainerHooks& hooks);

 private:
  EpochSettings settings(size_t epoch) const;
  EpochRecord run_epoch(size_t epoch, TrainState& state);
  void evaluate(const EpochSettings& settings, EpochRecord& record, TrainState& state);
  bool done(const TrainState& state) const;
  void restart(TrainState& state);
  void capture(TrainState& state) const;
  void restore(const TrainState& state);

  const Phase& phase_;
  const Split& split_;
  Training t_;
  Runner runner_;
  size_t restart_epoch_;
};

}  // namespace spex
