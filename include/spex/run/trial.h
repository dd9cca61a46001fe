// Trainings that are judged on validation nodes alone: what the defaults and `spex tune` choose by.
// The problems they run on know no test nodes, so nothing can depend on those.
#pragma once

#include <spex/run/problem.h>
#include <spex/train/trainer.h>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace spex {

using Stop = std::function<bool()>;

// Which of a split's training and validation nodes a trial trains on, and which judge it.
struct Division {
  size_t fold = 0;  // 0: as they are; others divide them anew, in equal numbers
  // Half of the validation nodes may stand in the place of the test nodes: nodes that no epoch is
  // chosen by.
  enum Judges { none, first_half, second_half } judges = none;
};

// One data set, made ready for many configurations: features are prepared and graphs built once for
// all that need the same, and an estimator is trained once for all that draw by its scores.
class Trials {
 public:
  explicit Trials(Dataset data) : data_(std::move(data)) {}

  // What a configuration trains on. Null if told to stop while an estimator was trained.
  std::shared_ptr<const Problem> problem(const Config& config, const Stop& stop = {},
                                         const Division& division = {});

  // Its training and validation nodes, and no test nodes but those that judge a divided problem: none
  // where halves of the validation nodes do not give the metric.
  Split split(const SplitConfig& config, const Division& division) const;

  const Dataset& data() const { return data_; }

 private:
  const PreparedData& prepared(const FeatureConfig& features);
  const Ground& ground(const Config& config);
  void halve(Split& split, Division::Judges judges, Metric metric) const;

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

// Whether trainings of a halved problem take the same steps, whichever half chooses the epoch.
bool steps_are_of_both_halves(const Config& config);

// Two such trainings in one: what the validation nodes choose, and what the test nodes do in their
// place; the latter is left empty where epochs are not evaluated on all nodes. False if told to stop.
bool train_for_both_halves(const Problem& problem, const Config& config, size_t seed,
                           std::array<TrainState, 2>& halves, const Stop& stop = {});

}  // namespace spex
