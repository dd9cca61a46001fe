// What a run leaves behind when its networks are trained: the seed whose networks are kept,
// predictions, details and summary.
#pragma once

#include <spex/run/run.h>

namespace spex {

struct TrainedRun {
  const Problem& problem;
  const Config& config;
  const RunOptions& options;
  const RunFiles& files;
  const std::vector<EpochRecord>& records;  // rows of metrics.csv
};

// Writes the files; summary.json is the last one.
RunRecord run_results(const TrainedRun& run);

}  // namespace spex
