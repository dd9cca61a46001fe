#include "run/tune_finals.h"

#include <spex/core/files.h>
#include <spex/core/log.h>
#include <spex/core/threads.h>
#include <spex/run/defaults.h>
#include <spex/run/halving.h>
#include <spex/run/score_text.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "run/moments.h"

namespace spex {
namespace {

constexpr size_t kMostTrials = 3;    // beside the default
constexpr size_t kFinalFold = 1000;  // the first way to divide nodes anew that no search uses
constexpr size_t kTogether = 2;      // what a comparison takes at least

// Of one trial with others, the networks are numbered as if they were its own.
size_t members_of(const TuneContext& c, const Finalist& finalist) {
  return c.start_of(c.table.now.trials[finalist.front()]).config.members;
}

// One of a finalist's networks; its logits are what counts.
TrialUnit network_of(const TuneContext& c, const Finalist& finalist, const Fold& fold,
                     size_t number) {
  size_t trial = finalist[number % finalist.size()];
  Fold own = fold;
  own.seed = fold.seed * members_of(c, finalist) + number;
  TrialUnit unit = c.unit_of("finals", trial, own, 0);
  std::vector<Phase> networks = network_phases(unit.config);
  unit.config.phases.back() = networks[turn_of(number, unit.config, networks)];
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

// Trials in the finals are the best for the nodes that judged the search. So where those are few,
// training and validation nodes are divided in other ways here; and half of the validation nodes
// judges networks whose epoch the other half chose.
std::vector<Fold> judged_rounds(const TuneContext& c) {
  std::vector<Fold> all;
  for (Fold round : rounds(c))
    for (Division::Judges judges : {Division::second_half, Division::first_half}) {
      size_t s = round.seed - c.starts.front().config.seed;
      round.division = {c.judges < kEnoughJudges ? kFinalFold + s : 0, judges};
      all.push_back(round);
    }
  return all;
}

// The networks of the trials in the finals, in one round.
struct Compared {
  Fold round;
  std::vector<std::vector<TrialUnit>> networks;  // by trial and number
  size_t depth = 0;                              // so many of each trial are trained
};

class Finals {
 public:
  explicit Finals(TuneContext& context)
      : c_(context), trials_(finalists(context.scores(), kMostTrials)) {
    trials_.insert(trials_.begin(), 0);
    for (const Fold& round : judged_rounds(c_)) {
      Compared& here = compared_.emplace_back();
      here.round = round;
      for (size_t trial : trials_)
        for (std::vector<TrialUnit>& own = here.networks.emplace_back();
             own.size() < members_of(c_, {trial});)
          own.push_back(network_of(c_, {trial}, round, own.size()));
      most_ = std::ranges::max(here.networks, {}, &std::vector<TrialUnit>::size).size();
    }
  }

  // One network of each trial in every round, then the next one. False: time is over.
  bool train(const Stop& stop) {
    for (size_t number = 0; number < most_; ++number)
      for (size_t first = 0; first < compared_.size(); first += kTogether) {
        size_t count = std::min(kTogether, compared_.size() - first);
        if (!train(std::span(compared_).subspan(first, count), number, stop)) return false;
      }
    return true;
  }

  void decide() {
    Tuning& now = c_.table.now;
    for (size_t trial : trials_) now.finalists.push_back({trial});
    for (Finalist& several : mixtures()) now.finalists.push_back(std::move(several));
    std::vector<std::vector<double>> validation;
    for (size_t f = 0; f < now.finalists.size(); ++f) {
      std::vector<double>& own = validation.emplace_back();
      for (const Compared& here : compared_) {
        std::vector<TrialUnit> networks = networks_of(now.finalists[f], here);
        if (networks.empty()) break;  // nor in later rounds: those have fewer
        own.push_back(c_.units.judge(networks));
        now.finals.push_back({f, here.round.split, here.round.seed, networks.size(), own.back()});
      }
    }
    now.winner = choose_winner(validation, sure_gain(validation.front()));
  }

 private:
  // Two standard errors of a share on as many nodes as judge.
  double sure_gain(const std::vector<double>& scores) const {
    if (scores.empty() || !is_share(c_.table.now.metric))
      return std::numeric_limits<double>::infinity();
    return 4 * worthwhile_gain(scores.front(), c_.judges / 2);
  }

  bool train(std::span<Compared> rounds, size_t number, const Stop& stop) {
    std::vector<TrialUnit> units;
    for (const Compared& here : rounds)
      for (const std::vector<TrialUnit>& own : here.networks)
        if (number < own.size()) units.push_back(own[number]);
    c_.units.train(units, stop, [&] { c_.show("finals"); });
    bool all = true;
    auto next = units.begin();
    for (Compared& here : rounds) {
      auto first = next;
      for (std::vector<TrialUnit>& own : here.networks)
        if (number < own.size()) own[number] = *next++;
      bool whole = std::all_of(first, next, is_done);
      if (whole) here.depth = number + 1;
      all = all && whole;
    }
    return all;
  }

  // Those that a finalist predicts with in a round; none where too few are trained.
  std::vector<TrialUnit> networks_of(const Finalist& finalist, const Compared& here) const {
    size_t count = std::min(here.depth, members_of(c_, finalist));
    if (count < finalist.size()) return {};
    std::vector<TrialUnit> networks;
    for (size_t number = 0; number < count; ++number) {
      size_t trial = finalist[number % finalist.size()];
      size_t place = static_cast<size_t>(std::ranges::find(trials_, trial) - trials_.begin());
      networks.push_back(here.networks[place][number]);
    }
    return networks;
  }

  // The best two together, the best three, ..: networks that differ in more than their seeds make
  // other mistakes.
  std::vector<Finalist> mixtures() const {
    std::vector<std::pair<double, size_t>> ranking;
    for (size_t trial : trials_) {
      std::vector<double> scores;
      for (const Compared& here : compared_)
        if (here.depth > 0) scores.push_back(c_.units.judge(networks_of({trial}, here)));
      double mean = moments(scores).mean;
      if (!scores.empty() && !std::isnan(mean)) ranking.emplace_back(mean, trial);
    }
    std::ranges::stable_sort(ranking, std::greater(), &std::pair<double, size_t>::first);
    std::vector<Finalist> mixed;
    Finalist best;
    for (const auto& [mean, trial] : ranking) {
      if (!best.empty() && !fit_together(best.front(), trial)) continue;
      best.push_back(trial);
      if (best.size() > members_of(c_, best)) break;
      if (best.size() > 1) mixed.push_back(best);
    }
    return mixed;
  }

  bool fit_together(size_t one, size_t other) const {
    Config a = c_.config_of(c_.table.now.trials[one]), b = c_.config_of(c_.table.now.trials[other]);
    return a.model == b.model && share_ground(a.final().model->needs(), b.final().model->needs());
  }

  TuneContext& c_;
  std::vector<size_t> trials_;
  std::vector<Compared> compared_;
  size_t most_ = 0;
};

Config winner_of(const TuneContext& c) {
  const Tuning& now = c.table.now;
  if (now.trials.empty()) return c.starts.front().config;
  const Finalist& winner = now.finalists[now.winner];
  Config config = c.config_of(now.trials[winner.front()]);
  if (winner.size() == 1) return config;
  std::vector<Phase> networks;
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
      double test = c.units.judge(networks);
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
