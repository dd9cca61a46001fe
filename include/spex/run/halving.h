// Successive halving as pure functions: who trains on, who is new, who is looked at in the end. No
// answer depends on time or on the number of threads, so a search can be repeated from its table.
#pragma once

#include <cstddef>
#include <vector>

namespace spex {

inline constexpr size_t kReduction = 3;  // one trial of so many goes on to the next rung
inline constexpr size_t kRungs = 3;

// The epochs at which a trial of `epochs` is judged: rising, the last is all of them.
std::vector<size_t> rung_epochs(size_t epochs);

// The validation metric of a trial at each rung it has been to; NaN at the last one: it failed.
using RungScores = std::vector<double>;

struct Job {
  size_t trial = 0;
  size_t rung = 0;
};

// What to train next, at most `size` jobs: trials among the best 1 / kReduction of those that have
// been to their rung go on, the highest rungs first; new trials, numbered from trials.size() on,
// fill up until there are `most_trials`. Empty: the search is over.
std::vector<Job> next_wave(const std::vector<RungScores>& trials, size_t size, size_t most_trials);

// Up to `count` trials other than the first (the default) that did not fail: those with the best
// metric at the highest rung, then those of the rungs below.
std::vector<size_t> finalists(const std::vector<RungScores>& trials, size_t count);

// What a finalist is worth in one round of the finals, and what it is by resamples of the nodes that
// judge: each number of a resample draws the same nodes for all finalists, in all rounds.
struct Judged {
  double score = 0;
  std::vector<double> resampled;  // NaN where such nodes do not give the metric
};

// Which of several finalists to take, by the same rounds, in the same order. The first is the
// default, of which there may be more: another must beat it by more than the noise of the mean
// difference. That is its standard error over rounds, or over resamples if that is larger: rounds
// share nodes, and there may be but one.
size_t choose_winner(const std::vector<std::vector<Judged>>& finalists);

}  // namespace spex
