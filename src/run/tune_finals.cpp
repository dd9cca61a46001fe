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

constexpr size_t kMostTrials = 3;       // beside the default
constexpr size_t kFinalFold = 1000;     // the first way to divide nodes anew that no search uses
constexpr size_t kResamples = 100;      // of the nodes that judge
constexpr size_t kManyJudges = 10'000;  // validation nodes that no trials fit by chance
constexpr size_t kOfSeveral = 2;        // times the networks of one

// Trials that predict together have twice the networks: the more they differ, the more of them help.
size_t members_of(const TuneContext& c, const Finalist& finalist) {
  size_t own = c.start_of(c.table.now.trials[finalist.front()]).config.members;
  return finalist.size() > 1 ? kOfSeveral * own : own;
}

// One of a finalist's networks, whose trials take turns; its logits are what counts.
TrialUnit network_of(const TuneContext& c, const Finalist& finalist, const Fold& fold,
                     size_t number) {
  size_t trial = finalist[number % finalist.size()], own_number = number / finalist.size();
  Fold own = fold;
  own.seed = fold.seed * members_of(c, finalist) + number;
  TrialUnit unit = c.unit_of("finals", trial, own, 0);
  std::vector<Phase> networks = network_phases(unit.config);
  unit.config.phases.back() = networks[turn_of(own_number, unit.config, networks)];
  unit.config.variants.clear();
  unit.epochs = unit.config.final().recipe.epochs;
  unit.leaves = TrialUnit::logits;
  return unit;
}

bool is_done(const TrialUnit& unit) {
  return unit.done;
}

// Every split with every seed, one after the other, so that time may end anything anywhere.
std::vector<Fold> rounds(const TuneContext& c) {
  std::vector<Fold> all;
  for (size_t s = 0; s < c.request.seeds; ++s)
    for (size_t split : c.request.splits)
      all.push_back({split, c.starts.front().config.seed + s, {}});
  return all;
}

// One round of the finals: every trial that is in them, on one split with one seed. Trials in the finals
// are the best for the nodes that judged the search; so where those are few, training and validation
// nodes are divided in other ways here. And each half of the validation nodes judges networks whose
// epochs the other half chose, if halves give the metric.
struct Round {
  Fold fold;
  std::vector<Division::Judges> halves = {Division::second_half, Division::first_half};
  size_t depth = 0;  // networks of each trial that are trained
};

class Finals {
 public:
  explicit Finals(TuneContext& context)
      : c_(context), trials_(finalists(context.scores(), kMostTrials)) {
    trials_.insert(trials_.begin(), 0);
    for (size_t trial : trials_) most_ = std::max(most_, members_of(c_, {trial}));
    for (const Fold& fold : rounds(c_)) {
      Round& round = rounds_.emplace_back();
      round.fold = fold;
      size_t s = fold.seed - c_.starts.front().config.seed;
      round.fold.division.fold = c_.judges < kManyJudges ? kFinalFold + s : 0;
      SplitConfig split = c_.starts.front().config.split;
      split.index = fold.split;
      if (!c_.units.has_halves(split, round.fold.division.fold)) round.halves.resize(1);
    }
  }

  // Round by round, so that what is compared is what would be trained. False: time is over.
  bool train(const Stop& stop) {
    return std::ranges::all_of(rounds_, [&](Round& round) { return train(round, stop); });
  }

  void decide() {
    Tuning& now = c_.table.now;
    for (size_t trial : trials_) now.finalists.push_back({trial});
    for (Finalist& several : mixtures()) now.finalists.push_back(std::move(several));
    std::vector<std::vector<Judged>> validation;
    for (size_t f = 0; f < now.finalists.size(); ++f) {
      std::vector<Judged>& own = validation.emplace_back();
      for (const Round& round : rounds_) {
        size_t networks = networks_of(now.finalists[f], round);
        // A round that time cut short compares other averages than those before.
        if (networks == 0 || round.depth < rounds_.front().depth) break;
        own.push_back(judge(now.finalists[f], round, kResamples));
        now.finals.push_back({f, round.fold.split, round.fold.seed, networks, own.back().score});
      }
    }
    now.winner = choose_winner(validation);
  }

 private:
  // One network of every trial, then the next one, or a few at a time where there are more threads than
  // trials. Half after half, for training for one may leave what the other needs.
  bool train(Round& round, const Stop& stop) {
    size_t together = (static_cast<size_t>(threads()) + trials_.size() - 1) / trials_.size();
    while (round.depth < most_) {
      size_t next = std::min(most_, round.depth + together);
      for (Division::Judges judges : round.halves) {
        std::vector<TrialUnit> units;
        for (size_t number = round.depth; number < next; ++number)
          for (size_t trial : trials_)
            if (number < members_of(c_, {trial}))
              units.push_back(unit_of(trial, round, judges, number));
        c_.units.train(units, stop, [&] { c_.show("finals"); });
        c_.table.save();
        if (!std::ranges::all_of(units, is_done)) return false;
      }
      round.depth = next;
    }
    return true;
  }

  TrialUnit unit_of(size_t trial, const Round& round, Division::Judges judges,
                    size_t number) const {
    Fold fold = round.fold;
    fold.division.judges = judges;
    TrialUnit unit = network_of(c_, {trial}, fold, number);
    fold.seed = unit.seed;
    fold.division.judges =
        judges == Division::first_half ? Division::second_half : Division::first_half;
    unit.other_file = c_.table.state_file("finals", trial, fold);
    return unit;
  }

  // So many a finalist predicts with in a round.
  size_t networks_of(const Finalist& finalist, const Round& round) const {
    return std::min(round.depth * finalist.size(), members_of(c_, finalist));
  }

  // Both halves of the nodes count the same.
  Judged judge(const Finalist& finalist, const Round& round, size_t resamples) const {
    Judged mean{0, std::vector<double>(resamples, 0.0)};
    double share = 1.0 / static_cast<double>(round.halves.size());
    for (Division::Judges judges : round.halves) {
      std::vector<TrialUnit> networks;
      for (size_t number = 0; number < networks_of(finalist, round); ++number)
        networks.push_back(
            unit_of(finalist[number % finalist.size()], round, judges, number / finalist.size()));
      Judged half = c_.units.judge(networks, resamples);
      mean.score += share * half.score;
      for (size_t i = 0; i < resamples; ++i) mean.resampled[i] += share * half.resampled[i];
    }
    return mean;
  }

  // The best two together, the best three, ..: networks that differ in more than their seeds make
  // other mistakes.
  std::vector<Finalist> mixtures() const {
    std::vector<std::pair<double, size_t>> ranking;
    for (size_t trial : trials_) {
      std::vector<double> scores;
      for (const Round& round : rounds_)
        if (round.depth > 0) scores.push_back(judge({trial}, round, 0).score);
      double mean = moments(scores).mean;
      if (!scores.empty() && !std::isnan(mean)) ranking.emplace_back(mean, trial);
    }
    std::ranges::stable_sort(ranking, std::greater(), &std::pair<double, size_t>::first);
    std::vector<Finalist> mixed;
    Finalist best;
    for (const auto& [mean, trial] : ranking) {
      bool alone = members_of(c_, {trial}) == 1;  // one network was asked for
      if (alone || (!best.empty() && !fit_together(best.front(), trial))) continue;
      best.push_back(trial);
      if (best.size() > 1) mixed.push_back(best);
    }
    return mixed;
  }

  bool fit_together(size_t one, size_t other) const {
    Config a = c_.config_of(c_.table.now.trials[one]), b = c_.config_of(c_.table.now.trials[other]);
    return a.model == b.model && can_join(b.final().model->needs(), a.final().model->needs());
  }

  TuneContext& c_;
  std::vector<size_t> trials_;
  std::vector<Round> rounds_;
  size_t most_ = 0;  // networks of any of the trials
};

Config winner_of(const TuneContext& c) {
  const Tuning& now = c.table.now;
  if (now.trials.empty()) return c.starts.front().config;
  const Finalist& winner = now.finalists[now.winner];
  Config config = c.config_of(now.trials[winner.front()]);
  if (winner.size() == 1) return config;
  std::vector<Phase> networks;
  config.members = members_of(c, winner);
  for (size_t number = 0; number < config.members; ++number)
    networks.push_back(network_of(c, winner, {}, number).config.final());
  take_in_turn(config, networks);
  return config;
}

}  // namespace

bool decide(TuneContext& c, double seconds) {
  if (!c.table.now.trials.empty()) {
    Finals finals(c);
    bool whole = finals.train(c.until(seconds));
    if (c.told_to_stop()) {
      c.table.save();
      return false;
    }
    if (!whole) log("time was over before the last training of the finals");
    finals.decide();
    c.table.save();
  }
  write_text(c.request.out / "best.toml",
             "# chosen by spex tune on validation nodes\n" + to_toml(winner_of(c)));
  return true;
}

bool test_winner(TuneContext& c) {
  std::vector<Fold> all = rounds(c);
  if (c.table.now.trials.empty()) all.clear();
  std::vector<double> tests;
  for (size_t first = 0; first < all.size();) {
    const Finalist& winner = c.table.now.finalists[c.table.now.winner];
    size_t members = members_of(c, winner);
    size_t together = std::max<size_t>(1, static_cast<size_t>(threads()) / members);
    std::span<const Fold> group =
        std::span(all).subspan(first, std::min(together, all.size() - first));
    std::vector<TrialUnit> units;
    for (const Fold& round : group)
      for (size_t number = 0; number < members; ++number)
        units.push_back(network_of(c, winner, round, number));
    c.units.train(units, c.until(c.request.budget_seconds), [&] { c.show("test"); });
    for (size_t i = 0; i < group.size(); ++i) {
      std::span<const TrialUnit> networks(&units[i * members], members);
      if (!std::ranges::all_of(networks, is_done)) continue;
      double test = c.units.judge(networks).score;
      if (std::isnan(test)) continue;
      tests.push_back(test);
      c.table.now.tests.push_back({group[i].split, group[i].seed, test});
    }
    first += group.size();
  }
  if (c.told_to_stop()) {
    c.table.save();
    return false;
  }
  if (tests.size() < all.size())
    log("{} of {} trainings of the winner came to their end in time", tests.size(), all.size());
  Moments m = moments(tests);
  c.table.now.test_mean = tests.empty() ? std::numeric_limits<double>::quiet_NaN() : m.mean;
  c.table.now.test_std = m.deviation;
  return true;
}

}  // namespace spex
