// What search and finals of a tuning share: the data, the models with their defaults, the table of
// trials, the clock.
#pragma once

#include <spex/run/search_space.h>
#include <spex/run/tune.h>

#include "run/trial_units.h"
#include "run/tune_table.h"

namespace spex {

// A model, its default and what of it is searched.
struct TuneStart {
  Config config;
  SearchSpace space;
};

struct TuneContext {
  TuneContext(const Dataset& data, const TuneRequest& asked, const TuneHooks& hooks);

  bool told_to_stop() const { return hooks.stop && hooks.stop(); }
  Stop until(double seconds) const;  // told to stop, or so much of the budget is over
  void show(const std::string& stage) const;

  const TuneStart& start_of(const TuneTrial& trial) const;
  Config config_of(const TuneTrial& trial) const;
  size_t all_epochs(size_t trial) const;
  std::vector<RungScores> scores() const;  // of every trial so far
  TrialUnit unit_of(const char* folder, size_t trial, const Fold& fold, size_t epochs) const;

  TrialUnits units;
  TuneRequest request;
  TuneHooks hooks;
  std::vector<TuneStart> starts;
  TuneTable table;
  size_t judges;  // validation nodes of the first split
};

// The searched values of a trial.
Assignment values_in(const TuneTrial& trial);

}  // namespace spex
