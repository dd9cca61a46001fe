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

// Which of several finalists to take, by validation metrics of the same trainings (splits and
// seeds, in the same order). The first is the default, of which there may be more: another must
// beat it by more than the standard error of the paired differences, or where there is but one
// training, which tells nothing of noise, by more than `sure_gain`. No more is asked for: what found
// the finalists does not judge them.
size_t choose_winner(const std::vector<std::vector<double>>& validation, double sure_gain);

}  // namespace spex
