// Training of networks that a study needs, and what a few epochs of one cost.
#pragma once

#include <spex/run/phases.h>
#include <spex/run/run.h>

#include <filesystem>
#include <memory>

namespace spex {

struct TrainedNetwork {
  std::unique_ptr<Model> model;  // at its best validation epoch
  float temperature = 1;
  double validation = 0, test = 0;
};

// Throws if it was told to stop.
TrainedNetwork train_network(const Phase& phase, const Problem& problem, const Config& config,
                             size_t seed, const RunHooks& hooks);

// Makes the folder, and notes in it the settings its networks are trained with; throws if it has
// networks of other settings. Threads and the number of seeds do not matter.
void claim_folder(const std::filesystem::path& folder, Config config);

// The problem with the scores of an estimator: trained with the configuration, unless they are
// in `folder`.
Problem problem_with_scores(const Dataset& data, const Config& config,
                            const std::filesystem::path& folder, const RunHooks& hooks);

// A whole run in a folder of its own, taken as it is if it is finished and continued if not. Throws
// if it was told to stop. `scores`: to use in place of an estimator; empty: train one.
RunRecord run_in(const std::filesystem::path& folder, const Dataset& data, const Config& config,
                 const std::filesystem::path& scores, const RunHooks& hooks);

struct EpochCost {
  double seconds = 0;         // of a training epoch, the median
  double sample_seconds = 0;  // of which drawing neighbours
  size_t peak_bytes = 0;      // counted memory of data, graphs and training
};
// Trains a few epochs of a fresh network and forgets it; the first epoch is not timed. In batches
// no more than `batches` of them are run, and seconds are scaled up.
EpochCost measure_phase(const Phase& phase, const Problem& problem, const Config& config,
                        size_t epochs = 3, size_t batches = 16);

}  // namespace spex
