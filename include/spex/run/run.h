// A whole run: all phases of a method, and the directory it leaves behind. Killed at any moment, it
// continues with the same result; what stands in the directory is always whole.
#pragma once

#include <spex/plan/planner.h>
#include <spex/run/problem.h>
#include <spex/run/record.h>

#include <filesystem>
#include <functional>
#include <string>

namespace spex {

// The files of a run directory.
struct RunFiles {
  std::filesystem::path folder;
  std::filesystem::path config() const { return folder / "config.toml"; }
  std::filesystem::path metrics() const { return folder / "metrics.csv"; }
  // The model of a phase that gives the last one its scores.
  std::filesystem::path phase(const std::string& name) const {
    return folder / (name + ".safetensors");
  }
  std::filesystem::path scores() const { return folder / "scores.safetensors"; }
  std::filesystem::path attention() const { return folder / "attention.safetensors"; }
  // Of several networks that are averaged, each has a file.
  std::filesystem::path model(size_t member = 0) const {
    return folder / (member == 0 ? "model.safetensors"
                                 : "model-" + std::to_string(member + 1) + ".safetensors");
  }
  // A network that may be averaged with others, until the run is finished.
  std::filesystem::path network(size_t seed) const {
    return folder / ("network-" + std::to_string(seed) + ".safetensors");
  }
  std::filesystem::path predictions() const { return folder / "predictions.csv"; }
  std::filesystem::path summary() const { return folder / "summary.json"; }
  std::filesystem::path details() const { return folder / "details.json"; }
  std::filesystem::path report() const { return folder / "report.html"; }
  std::filesystem::path checkpoint() const { return folder / "checkpoint.safetensors"; }
  std::filesystem::path lock() const { return folder / "lock"; }
};

// What the configuration of a run that was trained from memory says of its data: a file beside it,
// which is there once the run was saved.
inline constexpr const char* kDataInside = "data.safetensors";

// The first line of a run's config.toml: which version of the directory it is.
inline constexpr const char* kRunHeader = "# spex run 3\n";
// The configuration of a run; throws if an earlier version wrote it. Data inside the directory is
// found there, wherever that is now.
Config read_run_config(const RunFiles& files);
// The fingerprint of the data set it was trained on; 0: the run does not say.
uint64_t read_data_fingerprint(const RunFiles& files);

struct RunOptions {
  std::filesystem::path out;
  bool resume = false;
  bool replace = false;              // the run that stands in `out`, if there is one
  std::filesystem::path scores;      // scores to use in place of phase 1; empty: train an estimator
  double checkpoint_seconds = 60.0;  // between checkpoints
  Plan plan;                         // the forecast, shown beside what is measured
  double read_seconds = 0;           // reading the data took so long
  std::string command;               // the command line, for the report
  std::string version;               // of the program, for the report
};

struct RunHooks {
  std::function<void(const EpochRecord&, size_t epochs)> on_epoch;
  std::function<bool()> stop;      // asked after each epoch
  std::function<void()> on_start;  // the folder is this run's own from now on
};

struct RunResult {
  bool finished = false;  // false: stopped, can be resumed
  RunRecord record;
};

RunResult run_training(Problem problem, const Config& config, const RunOptions& options,
                       const RunHooks& hooks);

// Phase 1 alone: trains an estimator and writes its scores.
struct EstimateResult {
  double validation = 0;
  double test = 0;
};
EstimateResult run_estimate(const Problem& problem, const Config& config,
                            const std::filesystem::path& scores_file, const RunHooks& hooks);

}  // namespace spex
