// The table of a search on disk: what this call knows, and what an earlier one left.
#pragma once

#include <spex/core/stopwatch.h>
#include <spex/run/halving.h>
#include <spex/run/trial.h>
#include <spex/run/tune.h>

#include <filesystem>

namespace spex {

// Where a trial is judged: a training with a seed, on a stored split, divided in some way.
struct Fold {
  size_t split = 0, seed = 0;
  Division division;
};

class TuneTable {
 public:
  // Takes up what a search that began in the same way left in the folder; throws if that began in
  // another. `spent` are seconds of the budget that are over.
  TuneTable(std::filesystem::path folder, const Tuning& begun, double spent);

  Tuning now;
  const Tuning& known() const { return known_; }

  void save();
  double seconds_since_saving() const { return saved_.seconds(); }
  double elapsed() const { return before_ + watch_.seconds(); }  // of the budget, all calls

  // What an earlier call has of the trial with this number; null if its settings were others.
  const TuneTrial* known_trial(size_t trial) const;
  const TuneStep* known_step(const Job& job) const;

  // The state of a training. What is trained is in its name: another version of the program may draw
  // other trials.
  std::filesystem::path state_file(const char* folder, size_t trial, const Fold& fold) const;

 private:
  Tuning with_known() const;

  std::filesystem::path folder_;
  Tuning known_;
  double before_ = 0;
  Stopwatch watch_, saved_;
};

}  // namespace spex
