// Many trainings at once: each a configuration on one split with one seed, its state in a file.
#pragma once

#include <spex/run/halving.h>
#include <spex/run/trial.h>

#include <filesystem>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

namespace spex {

struct TrialUnit {
  Config config;
  Division division;
  size_t seed = 0;
  size_t epochs = 0;  // to train up to
  // What it leaves in the file, and takes up if it is there: its state, or the logits of the nodes
  // that judge it, which are test nodes where no half of the validation nodes is; no logits if it
  // failed.
  enum Leaves { state, logits } leaves = state;
  std::filesystem::path file;
  // Of a halved problem: where the training whose epoch the other half chooses leaves its logits. It
  // is written as well where both take the same steps.
  std::filesystem::path other_file;
  bool may_fail = true;  // a failure is a result, not an error

  std::shared_ptr<const Problem> problem;
  bool done = false;
  double validation = std::numeric_limits<double>::quiet_NaN();  // of a state; NaN: failed
  double seconds = 0;
};

class TrialUnits {
 public:
  explicit TrialUnits(const Dataset& data);

  const Dataset& data() const { return trials_.data(); }
  // Whether the trainings of this data set run at the same time, a thread each: loops over few rows
  // leave threads waiting. On larger graphs they run one after the other, each with all threads.
  bool side_by_side() const { return side_by_side_; }

  // Units that a stop kept from their end are not done. `on_done` is called by one thread at a
  // time.
  void train(std::vector<TrialUnit>& units, const Stop& stop, const std::function<void()>& on_done);

  // The metric, on the nodes that judge, of what units with logits predict on average, and the same of
  // resamples of these nodes. They differ in seed or settings alone. NaN if one failed.
  Judged judge(std::span<const TrialUnit> units, size_t resamples = 0) const;

  // Whether halves of the validation nodes can judge each other's choices.
  bool has_halves(const SplitConfig& split, size_t fold) const {
    return !trials_.split(split, {fold, Division::first_half}).test.empty();
  }

 private:
  Split judging_split(const TrialUnit& unit) const;  // whose test nodes judge
  bool leave_logits(TrialUnit& unit, const Stop& stop);
  bool leave_state(TrialUnit& unit, const Stop& stop);
  Matrix predict(const TrialUnit& unit, const TrainState& state,
                 std::span<const NodeId> nodes) const;
  void fail(TrialUnit& unit, const char* why);
  void prepare(TrialUnit& unit, const Stop& stop);
  void train(TrialUnit& unit, const Stop& stop);

  Trials trials_;
  bool side_by_side_;
  std::mutex telling_;
};

}  // namespace spex
