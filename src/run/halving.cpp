#include <spex/run/halving.h>

#include <algorithm>
#include <cmath>

#include "run/moments.h"

namespace spex {
namespace {

bool failed(const RungScores& scores) {
  return !scores.empty() && std::isnan(scores.back());
}

// Trials that have been to a rung, best first; of equals the older one.
std::vector<size_t> ranked(const std::vector<RungScores>& trials, size_t rung) {
  std::vector<size_t> there;
  for (size_t i = 0; i < trials.size(); ++i)
    if (trials[i].size() > rung) there.push_back(i);
  auto score = [&](size_t i) { return std::isnan(trials[i][rung]) ? -INFINITY : trials[i][rung]; };
  std::stable_sort(there.begin(), there.end(),
                   [&](size_t a, size_t b) { return score(a) > score(b); });
  return there;
}

// Of one finalist less another, in the rounds that both have.
struct Gain {
  double mean = 0, noise = 0;
};

Gain gain_of(const std::vector<Judged>& one, const std::vector<Judged>& other) {
  size_t rounds = std::min(one.size(), other.size());
  if (rounds == 0) return {};
  std::vector<double> gains;
  size_t resamples = one.front().resampled.size();
  for (size_t r = 0; r < rounds; ++r) {
    gains.push_back(one[r].score - other[r].score);
    resamples = std::min({resamples, one[r].resampled.size(), other[r].resampled.size()});
  }
  std::vector<double> resampled;  // mean gains
  for (size_t i = 0; i < resamples; ++i) {
    double sum = 0;
    for (size_t r = 0; r < rounds; ++r) sum += one[r].resampled[i] - other[r].resampled[i];
    if (!std::isnan(sum)) resampled.push_back(sum / static_cast<double>(rounds));
  }
  bool telling = rounds > 1 || resampled.size() > 1;
  Moments m = moments(gains);
  return {m.mean, telling ? std::max(m.error, moments(resampled).deviation) : INFINITY};
}

}  // namespace

std::vector<size_t> rung_epochs(size_t epochs) {
  std::vector<size_t> rungs(kRungs, epochs);
  for (size_t r = kRungs - 1; r > 0; --r) rungs[r - 1] = std::max<size_t>(1, rungs[r] / kReduction);
  return rungs;
}

std::vector<Job> next_wave(const std::vector<RungScores>& trials, size_t size, size_t most_trials) {
  std::vector<Job> jobs;
  for (size_t rung = kRungs - 1; rung-- > 0;) {
    std::vector<size_t> there = ranked(trials, rung);
    there.resize(there.size() / kReduction);
    for (size_t trial : there)
      if (jobs.size() < size && trials[trial].size() == rung + 1 && !failed(trials[trial]))
        jobs.push_back({trial, rung + 1});
  }
  for (size_t next = trials.size(); jobs.size() < size && next < most_trials; ++next)
    jobs.push_back({next, 0});
  return jobs;
}

std::vector<size_t> finalists(const std::vector<RungScores>& trials, size_t count) {
  std::vector<size_t> chosen;
  for (size_t rung = kRungs; rung-- > 0;)
    for (size_t trial : ranked(trials, rung)) {
      bool known = std::find(chosen.begin(), chosen.end(), trial) != chosen.end();
      if (trial > 0 && !known && !failed(trials[trial]) && chosen.size() < count)
        chosen.push_back(trial);
    }
  return chosen;
}

size_t choose_winner(const std::vector<std::vector<Judged>>& finalists) {
  size_t winner = 0;
  for (size_t f = 1; f < finalists.size(); ++f) {
    Gain over_default = gain_of(finalists[f], finalists[0]);
    bool beyond_noise = over_default.mean > over_default.noise;
    if (beyond_noise && (winner == 0 || gain_of(finalists[f], finalists[winner]).mean > 0))
      winner = f;
  }
  return winner;
}

}  // namespace spex
