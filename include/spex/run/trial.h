// Trainings that are judged on validation nodes alone: what the defaults and `spex tune` choose by.
// The problems they run on have no test nodes, so nothing can depend on those.
#pragma once

#include <spex/run/problem.h>
#include <spex/train/trainer.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace spex {

using Stop = std::function<bool()>;

// One data set, made ready for many configurations: features are prepared and graphs built once for
// all that need the same, and an estimator is trained once for all that draw by its scores.
class Trials {
 public:
  explicit Trials(Dataset data) : data_(std::move(data)) {}

  // What a configuration trains on. Null if told to stop while an estimator was trained. Fold 0 is
  // the split as it is; the others divide its training and validation nodes anew, in equal numbers.
  std::shared_ptr<const Problem> problem(const Config& config, const Stop& stop = {},
                                         size_t fold = 0);

  const Dataset& data() const { return data_; }

 private:
  const PreparedData& prepared(const FeatureConfig& features);
  const Ground& ground(const Config& config);

  Dataset data_;
  std::map<std::string, PreparedData> prepared_;
  std::map<std::string, Ground> grounds_;
  std::map<std::string, std::shared_ptr<const Problem>> problems_;
};

// Trains the last phase from `state` on until `epochs` of its recipe's epochs are over, or its
// patience: stopping there and going on later gives what one training gives. False if told to stop
// before; the state is then to be thrown away.
bool continue_trial(const Problem& problem, const Config& config, size_t seed, size_t epochs,
                    TrainState& state, const Stop& stop = {});

}  // namespace spex
