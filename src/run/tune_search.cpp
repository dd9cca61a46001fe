#include "run/tune_search.h"

#include <spex/run/defaults.h>
#include <spex/run/halving.h>

#include <algorithm>
#include <cmath>

namespace spex {
namespace {

namespace fs = std::filesystem;

constexpr size_t kWave = 8;             // jobs decided at once, whatever the number of threads
constexpr size_t kEnoughJudges = 1000;  // validation nodes that a trial is judged by
constexpr size_t kMostSearchFolds = 4;
constexpr size_t kSearchSeed = 1000;  // the finals' seeds are not those of the search
constexpr double kSaveSeconds = 5;    // between two writings of the table within a wave

class Search {
 public:
  explicit Search(TuneContext& context) : c_(context), now_(context.table.now) { fold_search(); }

  bool run(double seconds) {
    fs::create_directories(c_.request.out / "trials");
    fs::create_directories(c_.request.out / "finals");
    Stop stop = c_.until(seconds);
    for (;;) {
      std::vector<Job> jobs = next_wave(c_.scores(), kWave, c_.request.most_trials);
      if (jobs.empty() || !run_wave(jobs, stop)) break;
      drop_states();
    }
    c_.table.save();
    return !c_.told_to_stop();
  }

 private:
  // The splits that a trial is judged on; where they have too few validation nodes, divided anew as
  // well.
  void fold_search() {
    const Config& first = c_.starts.front().config;
    size_t wanted = (kEnoughJudges + c_.judges - 1) / c_.judges;
    size_t count = std::clamp<size_t>(wanted, 1, kMostSearchFolds);
    size_t splits = c_.request.splits.size();
    for (size_t i = 0; i < count; ++i)
      folds_.push_back(
          {c_.request.splits[i % splits], first.seed + kSearchSeed, {i / splits, Division::none}});
  }

  // What reached most so far with a model; its default, if nothing else was tried.
  Assignment best_values(size_t start) const {
    const auto& [config, space] = c_.starts[start];
    std::vector<RungScores> own = c_.scores();
    for (size_t i = 0; i < own.size(); ++i)
      if (now_.trials[i].model != config.model) own[i].clear();
    std::vector<size_t> best = finalists(own, 1);
    return best.empty() ? values_of(space, config) : values_in(now_.trials[best.front()]);
  }

  // The defaults come first, then the shapes that defaults are chosen among. Then, in turn: values at
  // random, the default with a few changed, the best so far with a few changed; new to this search,
  // unless nothing is left.
  Assignment make_values(size_t which, size_t turn, const Tried& tried, size_t number) const {
    const auto& [config, space] = c_.starts[which];
    Assignment start = values_of(space, config);
    if (turn == 0) return start;
    std::vector<Config> shapes = shapes_of(config);
    if (turn <= shapes.size()) {
      Assignment values = values_of(space, shapes[turn - 1]);
      if (!tried.contains(values)) return values;
    }
    switch ((turn - std::min(turn - 1, shapes.size())) % 3) {
      case 1:
        return draw_values(config, space, tried, config.seed, number);
      case 2:
        return change_values(config, space, start, tried, config.seed, number);
      default:
        return change_values(config, space, best_values(which), tried, config.seed, number);
    }
  }

  TuneTrial make_trial(size_t number) const {
    size_t which = number % c_.starts.size(), turn = number / c_.starts.size();
    const auto& [config, space] = c_.starts[which];
    Tried tried;
    for (const TuneTrial& each : now_.trials)
      if (each.model == config.model) tried.insert(values_in(each));
    Assignment values = make_values(which, turn, tried, number);
    TuneTrial trial{config.model, {}, {}};
    for (size_t i = 0; i < space.size(); ++i)
      trial.settings.push_back(space[i].key + "=" + values[i]);
    return trial;
  }

  // The trials of one wave; what the table has is not trained again. False: time is over.
  bool run_wave(const std::vector<Job>& jobs, const Stop& stop) {
    for (const Job& job : jobs)
      if (job.rung == 0) now_.trials.push_back(make_trial(job.trial));
    bool whole = true;
    size_t group =
        c_.units.side_by_side() ? jobs.size() : 1;  // one by one, each is in the table at once
    for (size_t first = 0; first < jobs.size() && whole; first += group)
      whole = run_jobs({jobs.begin() + first, jobs.begin() + std::min(first + group, jobs.size())},
                       stop);
    return whole;
  }

  bool run_jobs(const std::vector<Job>& jobs, const Stop& stop) {
    std::vector<TrialUnit> units;
    for (const Job& job : jobs) {
      if (c_.table.known_step(job)) continue;
      size_t epochs = epochs_of(job);
      for (const Fold& fold : folds_)
        units.push_back(c_.unit_of("trials", job.trial, fold, epochs));
    }
    c_.units.train(units, stop, [&] { c_.show("search"); });
    bool whole = true;
    auto next = units.begin();
    for (const Job& job : jobs) {
      std::vector<TuneStep>& steps = now_.trials[job.trial].steps;
      if (const TuneStep* known = c_.table.known_step(job)) {
        steps.push_back(*known);
        continue;
      }
      auto end = next + static_cast<std::ptrdiff_t>(folds_.size());
      bool done = std::all_of(next, end, [](const TrialUnit& unit) { return unit.done; });
      if (done) steps.push_back(step_of({next, end}, epochs_of(job)));
      whole = whole && done;
      next = end;
    }
    if (!units.empty() &&
        (c_.units.side_by_side() || c_.table.seconds_since_saving() > kSaveSeconds))
      c_.table.save();
    return whole;
  }

  size_t epochs_of(const Job& job) const { return rung_epochs(c_.all_epochs(job.trial))[job.rung]; }

  TuneStep step_of(const std::vector<TrialUnit>& units, size_t epochs) const {
    TuneStep step{epochs, 0, 0, c_.table.elapsed()};
    for (const TrialUnit& unit : units) {
      step.validation += unit.validation / static_cast<double>(units.size());
      step.seconds += unit.seconds;
    }
    return step;
  }

  // Rungs of trials in the lower half are not kept: one of them that goes on later begins anew,
  // with the same result.
  void drop_states() const {
    for (size_t rung = 0; rung + 1 < kRungs; ++rung) {
      std::vector<double> there;
      for (const RungScores& s : c_.scores())
        if (s.size() == rung + 1 && !std::isnan(s[rung])) there.push_back(s[rung]);
      if (there.size() < kWave) continue;
      std::nth_element(there.begin(), there.begin() + there.size() / 2, there.end());
      double median = there[there.size() / 2];
      for (size_t i = 0; i < now_.trials.size(); ++i) {
        const std::vector<TuneStep>& steps = now_.trials[i].steps;
        if (steps.size() != rung + 1 || steps[rung].validation >= median) continue;
        for (const Fold& fold : folds_) fs::remove(c_.table.state_file("trials", i, fold));
      }
    }
  }

  TuneContext& c_;
  Tuning& now_;
  std::vector<Fold> folds_;
};

}  // namespace

bool search(TuneContext& context, double seconds) {
  return Search(context).run(seconds);
}

}  // namespace spex
