// Several models on the same splits and seeds: one run directory each, one table of all.
#pragma once

#include <spex/run/run.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace spex {

struct CompareRequest {
  std::vector<Config> configs;  // one per model, or several in a row, of different splits
  std::vector<size_t> splits;   // stored splits, each by all models; empty: the configurations' own
  std::filesystem::path out;    // MODEL/split-N inside it are the runs
  double checkpoint_seconds = 60.0;
  std::string command, version;  // for the runs' reports
};

// What one training reached.
struct ComparedRun {
  size_t split = 0, seed = 0;
  double validation = 0, test = 0;
};

struct ComparedModel {
  std::string model;
  std::vector<ComparedRun> runs;   // the same splits and seeds, in the same order, for every model:
                                   // only then can noise be told
  double mean = 0, deviation = 0;  // of the test metric
  double epoch_seconds = 0;        // median, of the last phase
  double seconds = 0;              // of all trainings
  size_t peak_bytes = 0;           // counted
  size_t parameters = 0;
  bool best = false;               // the largest mean
  bool within_noise = false;       // of the best: the paired differences do not tell them apart
  std::vector<EpochRecord> curve;  // of the last phase, first split and seed
};

struct Comparison {
  std::string data;
  std::string metric;
  std::vector<ComparedModel> models;  // in the order asked for
};

// Finished runs in `out` are taken as they are, unfinished ones continued: the same request after a
// kill goes on where it was. Nothing if it was told to stop.
std::optional<Comparison> compare_models(const Dataset& data, const CompareRequest& request,
                                         const RunHooks& hooks);

// Finished runs beside each other, by the names of their folders. Throws unless they are of the same
// data and metric.
Comparison compare_runs(const std::vector<std::filesystem::path>& runs);

// Marks the best model and those that the paired differences cannot tell from it: the mean
// difference lies within two standard errors of zero.
void mark_best(std::vector<ComparedModel>& models);

std::string to_csv(const Comparison& comparison);    // a row per model, split and seed
std::string to_json(const Comparison& comparison);   // everything
std::string to_table(const Comparison& comparison);  // for a terminal

}  // namespace spex
