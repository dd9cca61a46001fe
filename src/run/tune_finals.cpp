#include "run/tune_finals.h"

#include <spex/core/files.h>
#include <spex/core/log.h>
#include <spex/run/halving.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "run/moments.h"

namespace spex {
namespace {

constexpr size_t kFinalists = 3;     // beside the default
constexpr size_t kFinalFold = 1000;  // the first way to divide nodes anew that no search uses

// Every split with every seed, one after the other, so that time may end the finals anywhere.
// Finalists are the best for the nodes that judged the search. So where those are few, training and
// validation nodes are divided in other ways here; and each half of the validation nodes judges at
// an epoch that the other half chose.
std::vector<Fold> rounds(const TuneContext& c) {
  std::vector<Fold> all;
  bool divides = c.judges < kEnoughJudges;
  for (size_t s = 0; s < c.request.seeds; ++s)
    for (size_t split : c.request.splits)
      all.push_back(
          {split, c.starts.front().config.seed + s, {divides ? kFinalFold + s : 0, true}});
  return all;
}

// Finals stand in the table round by round, the finalists in their order; those of a round that was
// cut serve a later call. False: time is over.
bool run_rounds(TuneContext& c, const std::vector<size_t>& in, std::span<const Fold> rounds,
                const Stop& stop) {
  std::vector<TrialUnit> units;
  for (const Fold& round : rounds)
    for (size_t trial : in)
      if (!c.table.known_final(trial, round))
        units.push_back(c.unit_of("finals", trial, round, c.all_epochs(trial)));
  c.units.train(units, stop, [&] { c.show("finals"); });
  bool whole = true;
  auto next = units.begin();
  for (const Fold& round : rounds)
    for (size_t trial : in) {
      const TuneFinal* known = c.table.known_final(trial, round);
      const TrialUnit* unit = known ? nullptr : &*next++;
      if (known || unit->done)
        c.table.now.finals.push_back(
            {trial, round.split, round.seed, known ? known->validation : unit->validation});
      else
        whole = false;
    }
  if (!units.empty()) c.table.save();
  return whole;
}

void write_best(const TuneContext& c) {
  Config best = c.table.now.trials.empty() ? c.starts.front().config
                                           : c.config_of(c.table.now.trials[c.table.now.winner]);
  write_text(c.request.out / "best.toml",
             "# chosen by spex tune on validation nodes\n" + to_toml(best));
}

}  // namespace

bool decide(TuneContext& c, double seconds) {
  std::vector<size_t> in = {0};
  for (size_t trial : finalists(c.scores(), kFinalists)) in.push_back(trial);
  std::vector<Fold> all = rounds(c);
  Stop stop = c.until(seconds);
  size_t group = c.units.side_by_side() ? 2 : 1;  // enough trainings for some cores
  size_t done = 0;
  while (!c.table.now.trials.empty() && done < all.size() &&
         run_rounds(c, in, std::span(all).subspan(done).first(std::min(group, all.size() - done)),
                    stop))
    done = std::min(done + group, all.size());
  if (c.told_to_stop()) {
    c.table.save();
    return false;
  }
  std::vector<std::vector<double>> validation(in.size());
  c.table.now.finals.resize(done * in.size());  // without rounds that time cut
  for (size_t i = 0; i < c.table.now.finals.size(); ++i)
    validation[i % in.size()].push_back(c.table.now.finals[i].validation);
  if (done < all.size())
    log("time was over after {} of {} trainings of each finalist", done, all.size());
  c.table.now.winner = in[choose_winner(validation)];
  write_best(c);
  return true;
}

bool test_winner(TuneContext& c) {
  std::vector<TrialUnit> units;
  for (const TuneFinal& final : c.table.now.finals)
    if (final.trial == c.table.now.winner)
      units.push_back(c.unit_of("finals", c.table.now.winner, {final.split, final.seed, {}},
                                c.all_epochs(c.table.now.winner)));
  c.units.train(units, c.until(c.request.budget_seconds), [&] { c.show("test"); });
  if (c.told_to_stop()) {
    c.table.save();
    return false;
  }
  std::vector<double> tests;
  for (const TrialUnit& unit : units)
    if (unit.done && !std::isnan(unit.validation)) {
      tests.push_back(c.units.test(unit));
      c.table.now.tests.push_back({unit.config.split.index, unit.seed, tests.back()});
    }
  if (tests.size() < units.size())
    log("{} of {} trainings of the winner came to their end in time", tests.size(), units.size());
  Moments m = moments(tests);
  c.table.now.test_mean = tests.empty() ? std::numeric_limits<double>::quiet_NaN() : m.mean;
  c.table.now.test_std = m.deviation;
  return true;
}

}  // namespace spex
