#include "run/tune_finals.h"

#include <spex/core/files.h>
#include <spex/core/log.h>
#include <spex/core/threads.h>
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

// The default first, then the others, best first: where time is short, the best is compared, and the
// rest is not. A finalist's trainings stand in the table in the order of the rounds, without gaps;
// they serve a later call. False: time is over.
bool run_rounds(TuneContext& c, const std::vector<size_t>& in, std::span<const Fold> rounds,
                const Stop& stop) {
  std::vector<TrialUnit> units;
  for (size_t trial : in)
    for (const Fold& round : rounds)
      if (!c.table.known_final(trial, round))
        units.push_back(c.unit_of("finals", trial, round, c.all_epochs(trial)));
  c.units.train(units, stop, [&] { c.show("finals"); });
  bool all = true;
  auto next = units.begin();
  for (size_t trial : in) {
    bool so_far = true;
    for (const Fold& round : rounds) {
      const TuneFinal* known = c.table.known_final(trial, round);
      const TrialUnit* unit = known ? nullptr : &*next++;
      so_far = so_far && (known || unit->done);
      if (so_far)
        c.table.now.finals.push_back(
            {trial, round.split, round.seed, known ? known->validation : unit->validation});
    }
    all = all && so_far;
  }
  if (!units.empty()) c.table.save();
  return all;
}

// Rounds are trained some after the others, since a call prepares all that it trains first.
std::vector<std::span<const Fold>> grouped(std::span<const Fold> rounds, size_t size) {
  std::vector<std::span<const Fold>> groups;
  for (size_t i = 0; i < rounds.size(); i += size)
    groups.push_back(rounds.subspan(i, std::min(size, rounds.size() - i)));
  return groups;
}

bool run_finals(TuneContext& c, const std::vector<size_t>& in, const Stop& stop) {
  constexpr size_t kTogether = 2;  // what a comparison takes at least
  std::vector<Fold> all = rounds(c);
  for (std::span<const Fold> group : grouped(all, kTogether)) {
    if (c.units.side_by_side()) {
      if (!run_rounds(c, in, group, stop)) return false;
      continue;
    }
    for (size_t trial : in)  // each is in the table soon
      if (!run_rounds(c, {trial}, group, stop)) return false;
  }
  return true;
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
  bool whole = c.table.now.trials.empty() || run_finals(c, in, c.until(seconds));
  if (c.told_to_stop()) {
    c.table.save();
    return false;
  }
  if (!whole) log("time was over before the last training of the finals");
  std::vector<std::vector<double>> validation(in.size());
  for (size_t i = 0; i < in.size(); ++i)
    for (const TuneFinal& final : c.table.now.finals)
      if (final.trial == in[i]) validation[i].push_back(final.validation);
  c.table.now.winner = in[choose_winner(validation)];
  write_best(c);
  return true;
}

bool test_winner(TuneContext& c) {
  std::vector<Fold> all = rounds(c);
  if (c.table.now.trials.empty()) all.clear();
  size_t winner = c.table.now.winner;
  size_t members = all.empty() ? 1 : c.config_of(c.table.now.trials[winner]).members;
  size_t together = std::max<size_t>(1, static_cast<size_t>(threads()) / members);
  auto trained = [](const TrialUnit& unit) { return unit.done && !std::isnan(unit.validation); };
  std::vector<std::pair<Fold, std::vector<TrialUnit>>> tested;  // the networks of each training
  for (std::span<const Fold> group : grouped(all, together)) {
    std::vector<TrialUnit> units;
    for (const Fold& round : group)
      for (size_t m = 0; m < members; ++m)
        units.push_back(c.unit_of("finals", winner, {round.split, round.seed * members + m, {}},
                                  c.all_epochs(winner)));
    c.units.train(units, c.until(c.request.budget_seconds), [&] { c.show("test"); });
    for (size_t i = 0; i < group.size(); ++i) {
      std::span<const TrialUnit> networks(&units[i * members], members);
      if (std::ranges::all_of(networks, trained))
        tested.push_back({group[i], {networks.begin(), networks.end()}});
    }
  }
  if (c.told_to_stop()) {
    c.table.save();
    return false;
  }
  std::vector<double> tests;
  for (const auto& [round, networks] : tested) {
    tests.push_back(c.units.test(networks));
    c.table.now.tests.push_back({round.split, round.seed, tests.back()});
  }
  if (tests.size() < all.size())
    log("{} of {} trainings of the winner came to their end in time", tests.size(), all.size());
  Moments m = moments(tests);
  c.table.now.test_mean = tests.empty() ? std::numeric_limits<double>::quiet_NaN() : m.mean;
  c.table.now.test_std = m.deviation;
  return true;
}

}  // namespace spex
