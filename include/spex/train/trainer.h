// The loop: epochs of training, evaluation, and the best state kept. It can be stopped after any
// epoch and continued later with the same result.
#pragma once

#include <spex/train/runner.h>
#include <spex/train/schedule.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace spex {

// One row of metrics.csv. Metrics are fractions; NaN where an epoch did not evaluate.
struct EpochRecord {
  std::string phase;  // "estimator" or "final"
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

// A network's whole state: parameters and running statistics, by name.
using NetworkState = std::map<std::string, std::vector<float>>;
NetworkState save_state(const Network& network);
void load_state(Network& network, const NetworkState& state);

// All that changes while training: what a checkpoint holds.
struct TrainState {
  size_t next_epoch = 0;
  NetworkState network;
  NetworkState first_moment, second_moment;
  uint64_t optimiser_steps = 0;
  size_t best_epoch = 0;
  double best_validation = -1e30;
  double best_test = 0;
  float best_temperature = 1;
  NetworkState best;
};

struct TrainerOptions {
  std::string phase;
  size_t seed = 0;
  OptimiserConfig optimiser;
  TemperatureSchedule temperature;
  bool anneal = false;
  size_t evaluate_every = 1;
};

struct TrainerHooks {
  std::function<void(const EpochRecord&)> on_epoch;
  // Called after each epoch; true: save now. The state is what to save.
  std::function<bool(size_t epoch)> wants_checkpoint;
  std::function<void(const TrainState&)> checkpoint;
  std::function<bool()> stop;  // asked after each epoch
};

class Trainer {
 public:
  Trainer(RunnerContext context, Runner& runner, TrainerOptions options);

  // Runs until the last epoch, or until told to stop; true if all epochs are done. Afterwards the
  // network is in its best state if all are done.
  bool run(TrainState& state, const TrainerHooks& hooks);

 private:
  EpochSettings settings(size_t epoch) const;
  EpochRecord run_epoch(size_t epoch, TrainState& state);
  void evaluate(const EpochSettings& settings, EpochRecord& record, TrainState& state);
  void capture(TrainState& state) const;
  void restore(const TrainState& state);

  RunnerContext c_;
  Runner& runner_;
  TrainerOptions options_;
  std::vector<NodeId> evaluated_;  // what an evaluation must compute
};

}  // namespace spex
