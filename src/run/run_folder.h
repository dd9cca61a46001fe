// The directory of a run while it is being trained: who may use it, and what it already holds.
#pragma once

#include <spex/run/checkpoint.h>
#include <spex/run/run.h>

#include <optional>
#include <vector>

namespace spex {

// Of each network that may be averaged with others, until the run is finished; none where each seed
// has one network.
std::vector<std::filesystem::path> network_files(const RunFiles& files, const Config& config);

class RunFolder {
 public:
  RunFolder(const RunFiles& files, const Config& config) : files_(files), config_(config) {}

  // A new run needs a folder without a run in it; a continued one must be of the same configuration
  // and graph.
  void open(const Problem& problem, const RunOptions& options);

  // One more row of metrics.csv.
  void add(const EpochRecord& record);
  void write_metrics() const;  // all rows anew, as they stand now

  const std::optional<Checkpoint>& checkpoint() const { return checkpoint_; }
  std::vector<EpochRecord>& records() { return records_; }
  const std::vector<EpochRecord>& records() const { return records_; }

  // The state to start a training from: the checkpoint's if it is of this phase and seed.
  TrainState state_for(const std::string& phase, size_t seed) const;
  bool is_past(const std::string& phase, size_t seed) const;

 private:
  void start(const Problem& problem);
  void remove_run() const;
  void check_same_configuration(const Config& before) const;
  void check_same_data(const Problem& problem) const;
  void check_same_graph(const Problem& problem) const;
  void read_metrics();
  void drop_later_records();
  size_t place_of(const std::string& phase) const;

  RunFiles files_;
  const Config& config_;
  std::optional<Checkpoint> checkpoint_;
  std::vector<EpochRecord> records_;
};

}  // namespace spex
