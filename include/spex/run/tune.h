// A search for better settings of one or several models on validation nodes alone, within a time.
// Test nodes are looked at once, in the end, for the winner. The table of trials is on disk: a
// killed search goes on where it was, and ends with the same winner if time did not end it.
#pragma once

#include <spex/run/problem.h>

#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace spex {

struct TuneRequest {
  std::vector<Config> defaults;  // one per model; that of the first is kept unless it is beaten
  std::vector<size_t> splits;    // stored splits of the finals; empty: the configurations' own
  size_t seeds = 3;              // times that each finalist is judged on each split
  double budget_seconds = 600;
  double spent_seconds = 0;  // of the budget, before the search begins
  size_t most_trials = std::numeric_limits<size_t>::max();
  std::filesystem::path out;
};

// A trial at one rung: how far it was trained, and what it reached there.
struct TuneStep {
  size_t epochs = 0;
  double validation = 0;  // mean over the search's splits and seeds; NaN: the training failed
  double seconds = 0;     // of training, since the rung before
  double at = 0;          // seconds of the budget that were over
};

struct TuneTrial {
  std::string model;
  std::vector<std::string> settings;  // "gcn.width=64": every searched one
  std::vector<TuneStep> steps;
};

// What may win: a trial, or several whose networks predict together, in turn.
using Finalist = std::vector<size_t>;

// A finalist's average over so many networks, judged by validation nodes that chose no epoch of
// theirs.
struct TuneFinal {
  size_t finalist = 0, split = 0, seed = 0, networks = 0;
  double validation = 0;
};

// One training of the winner on a split as it is.
struct TuneTest {
  size_t split = 0, seed = 0;
  double test = 0;
};

// tune.json
struct Tuning {
  std::string data;
  std::string metric;
  std::string fingerprint;            // of the data set's edges, features and labels
  std::vector<size_t> splits;         // that finalists are judged on
  std::vector<std::string> defaults;  // the configurations it started from, as TOML
  double budget_seconds = 0, seconds = 0;
  std::vector<TuneTrial> trials;    // the defaults first
  std::vector<Finalist> finalists;  // the default first
  std::vector<TuneFinal> finals;
  std::vector<TuneTest> tests;
  bool finished = false;
  size_t winner = 0;                   // a finalist; 0: the default is kept
  double test_mean = 0, test_std = 0;  // of the winner, over its tests; NaN: there are none
};

// Shown while it works.
struct TuneProgress {
  double seconds = 0, budget_seconds = 0;
  size_t trials = 0;
  double best = 0, start = 0;  // validation metrics of the best trial and of the default
  std::string stage;           // search, finals or test
};

struct TuneHooks {
  std::function<void(const TuneProgress&)> on_progress;  // one call at a time
  std::function<bool()> stop;
};

// Leaves best.toml, trials.csv and tune.json in `out`. Nothing if it was told to stop.
std::optional<Tuning> tune(const Dataset& data, const TuneRequest& request, const TuneHooks& hooks);

std::string to_csv(const Tuning& tuning);    // a row per trial and rung
std::string to_json(const Tuning& tuning);   // everything
std::string to_table(const Tuning& tuning);  // the finalists, for a terminal
Tuning parse_tuning(const std::string& text, const std::string& source);

}  // namespace spex
