#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/log.h>
#include <spex/data/fingerprint.h>
#include <spex/run/halving.h>
#include <spex/run/run_lock.h>
#include <spex/run/search_space.h>
#include <spex/run/tune.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "run/moments.h"
#include "run/trial_units.h"
#include "run/tune_table.h"

namespace spex {
namespace {

namespace fs = std::filesystem;

constexpr size_t kWave = 8;            // jobs decided at once, whatever the number of threads
constexpr double kSearchShare = 0.6;   // of the budget, until the finals begin
constexpr double kFinalsShare = 0.8;   // until the winner is trained for its test metric
constexpr size_t kFinalists = 3;       // beside the default
constexpr size_t kEnoughNodes = 1000;  // validation nodes that a trial is judged by, all folds
constexpr size_t kMostSearchFolds = 4;
constexpr size_t kFinalFold = 1000;   // the first way to divide nodes anew that no search uses
constexpr size_t kSearchSeed = 1000;  // the finals' seeds are not those of the search
constexpr double kSaveSeconds = 5;    // between two writings of the table within a wave
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// A model, its default and what of it is searched.
struct Start {
  Config config;
  SearchSpace space;
};

class Tuner {
 public:
  Tuner(const Dataset& data, const TuneRequest& request, const TuneHooks& hooks)
      : units_(data),
        request_(with_splits(request)),
        hooks_(hooks),
        table_(request.out, begun(data, request_), request.spent_seconds) {
    bool classes = data.labels.task == Task::classes;
    for (const Config& config : request.defaults)
      starts_.push_back({config, search_space(config, classes)});
    fold_search();
  }

  std::optional<Tuning> run() {
    if (table_.known().finished) {
      log("{} holds a finished search; give another --out for a new one", request_.out.string());
      return table_.known();
    }
    if (!search() || !decide() || !test_winner()) return std::nullopt;
    while (now_.trials.size() > 1 && now_.trials.back().steps.empty()) now_.trials.pop_back();
    now_.finished = true;
    table_.save();
    fs::remove_all(request_.out / "trials");
    fs::remove_all(request_.out / "finals");
    return now_;
  }

 private:
  static TuneRequest with_splits(TuneRequest request) {
    if (request.splits.empty()) request.splits = {request.defaults.front().split.index};
    return request;
  }

  static Tuning begun(const Dataset& data, const TuneRequest& request) {
    Tuning tuning;
    tuning.data = data.name;
    tuning.fingerprint = fmt::format("{:016x}", fingerprint(data));
    tuning.splits = request.splits;
    tuning.metric = name(Objective(data.labels, request.defaults.front().split.metric).metric());
    tuning.budget_seconds = request.budget_seconds;
    for (Config config : request.defaults) {
      config.data.clear();
      config.threads = 0;
      tuning.defaults.push_back(to_toml(config));
    }
    return tuning;
  }

  // ---- time

  bool told_to_stop() const { return hooks_.stop && hooks_.stop(); }
  Stop until(double seconds) const {
    return [this, seconds] { return told_to_stop() || table_.elapsed() >= seconds; };
  }

  void show(const std::string& stage) {
    if (!hooks_.on_progress) return;
    TuneProgress p{table_.elapsed(), request_.budget_seconds, 0, kNone, kNone, stage};
    for (size_t i = 0; i < now_.trials.size(); ++i) {
      if (now_.trials[i].steps.empty()) continue;
      double score = now_.trials[i].steps.back().validation;
      ++p.trials;
      if (i == 0) p.start = score;
      if (!(p.best >= score)) p.best = std::isnan(score) ? p.best : score;
    }
    hooks_.on_progress(p);
  }

  // ---- trainings

  // The splits that a trial is judged on; where they have too few validation nodes, divided anew as
  // well.
  void fold_search() {
    const Config& first = starts_.front().config;
    size_t nodes = choose_split(units_.data(), first.split).validation.size();
    size_t wanted = (kEnoughNodes + nodes - 1) / nodes;
    size_t count = std::clamp<size_t>(wanted, 1, kMostSearchFolds);
    size_t splits = request_.splits.size();
    for (size_t i = 0; i < count; ++i)
      folds_.push_back(
          {request_.splits[i % splits], first.seed + kSearchSeed, {i / splits, false}});
    divides_finals_ = nodes < kEnoughNodes;
  }

  const Start& start_of(const TuneTrial& trial) const {
    return *std::find_if(starts_.begin(), starts_.end(),
                         [&](const Start& s) { return s.config.model == trial.model; });
  }

  static Assignment values_in(const TuneTrial& trial) {
    Assignment values;
    for (const std::string& each : trial.settings)
      values.push_back(each.substr(each.find('=') + 1));
    return values;
  }

  Config config_of(const TuneTrial& trial) const {
    const Start& start = start_of(trial);
    return with_values(start.config, start.space, values_in(trial));
  }

  TrialUnit unit_of(const char* folder, size_t trial, const Fold& fold, size_t epochs) const {
    TrialUnit unit;
    unit.config = config_of(now_.trials[trial]);
    unit.config.split.index = fold.split;
    unit.seed = fold.seed;
    unit.epochs = epochs;
    unit.division = fold.division;
    unit.file = table_.state_file(folder, trial, fold);
    unit.may_fail = trial > 0;
    return unit;
  }

  // ---- the search

  std::vector<RungScores> scores() const {
    std::vector<RungScores> all;
    for (const TuneTrial& trial : now_.trials) {
      RungScores& s = all.emplace_back();
      for (const TuneStep& step : trial.steps) s.push_back(step.validation);
    }
    return all;
  }

  // What reached most so far with a model; its default, if nothing else was tried.
  Assignment best_values(size_t start) const {
    const auto& [config, space] = starts_[start];
    std::vector<RungScores> own = scores();
    for (size_t i = 0; i < own.size(); ++i)
      if (now_.trials[i].model != config.model) own[i].clear();
    std::vector<size_t> best = finalists(own, 1);
    return best.empty() ? values_of(space, config) : values_in(now_.trials[best.front()]);
  }

  // The defaults come first. Then, in turn: values at random, the default with a few changed, the
  // best so far with a few changed; new to this search, unless nothing is left.
  TuneTrial make_trial(size_t number) const {
    size_t which = number % starts_.size(), turn = number / starts_.size();
    const auto& [config, space] = starts_[which];
    Assignment values = values_of(space, config);
    Tried tried;
    for (const TuneTrial& each : now_.trials)
      if (each.model == config.model) tried.insert(values_in(each));
    if (turn > 0 && turn % 3 == 1)
      values = draw_values(config, space, tried, config.seed, number);
    else if (turn > 0)
      values = change_values(config, space, turn % 3 == 2 ? values : best_values(which), tried,
                             config.seed, number);
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
        units_.side_by_side() ? jobs.size() : 1;  // one by one, each is in the table at once
    for (size_t first = 0; first < jobs.size() && whole; first += group)
      whole = run_jobs({jobs.begin() + first, jobs.begin() + std::min(first + group, jobs.size())},
                       stop);
    return whole;
  }

  bool run_jobs(const std::vector<Job>& jobs, const Stop& stop) {
    std::vector<TrialUnit> units;
    for (const Job& job : jobs) {
      if (table_.known_step(job)) continue;
      size_t epochs = epochs_of(job);
      for (const Fold& fold : folds_) units.push_back(unit_of("trials", job.trial, fold, epochs));
    }
    units_.train(units, stop, [&] { show("search"); });
    bool whole = true;
    auto next = units.begin();
    for (const Job& job : jobs) {
      std::vector<TuneStep>& steps = now_.trials[job.trial].steps;
      if (const TuneStep* known = table_.known_step(job)) {
        steps.push_back(*known);
        continue;
      }
      auto end = next + static_cast<std::ptrdiff_t>(folds_.size());
      bool done = std::all_of(next, end, [](const TrialUnit& unit) { return unit.done; });
      if (done) steps.push_back(step_of({next, end}, epochs_of(job)));
      whole = whole && done;
      next = end;
    }
    if (!units.empty() && (units_.side_by_side() || table_.seconds_since_saving() > kSaveSeconds))
      table_.save();
    return whole;
  }

  size_t all_epochs(size_t trial) const {
    return start_of(now_.trials[trial]).config.final().recipe.epochs;
  }

  size_t epochs_of(const Job& job) const { return rung_epochs(all_epochs(job.trial))[job.rung]; }

  TuneStep step_of(const std::vector<TrialUnit>& units, size_t epochs) const {
    TuneStep step{epochs, 0, 0, table_.elapsed()};
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
      for (const RungScores& s : scores())
        if (s.size() == rung + 1 && !std::isnan(s[rung])) there.push_back(s[rung]);
      if (there.size() < kWave) continue;
      std::nth_element(there.begin(), there.begin() + there.size() / 2, there.end());
      double median = there[there.size() / 2];
      for (size_t i = 0; i < now_.trials.size(); ++i) {
        const std::vector<TuneStep>& steps = now_.trials[i].steps;
        if (steps.size() != rung + 1 || steps[rung].validation >= median) continue;
        for (const Fold& fold : folds_) fs::remove(table_.state_file("trials", i, fold));
      }
    }
  }

  // False if told to stop.
  bool search() {
    fs::create_directories(request_.out / "trials");
    fs::create_directories(request_.out / "finals");
    Stop stop = until(kSearchShare * request_.budget_seconds);
    for (;;) {
      std::vector<Job> jobs = next_wave(scores(), kWave, request_.most_trials);
      if (jobs.empty() || !run_wave(jobs, stop)) break;
      drop_states();
    }
    table_.save();
    return !told_to_stop();
  }

  // ---- the finals

  // Every split with every seed, one after the other, so that time may end the finals anywhere.
  // Finalists are the best for the nodes that judged the search. So where those are few, training and
  // validation nodes are divided in other ways here; and each half of the validation nodes judges at
  // an epoch that the other half chose.
  std::vector<Fold> rounds() const {
    std::vector<Fold> all;
    for (size_t s = 0; s < request_.seeds; ++s)
      for (size_t split : request_.splits)
        all.push_back(
            {split, starts_.front().config.seed + s, {divides_finals_ ? kFinalFold + s : 0, true}});
    return all;
  }

  // False if told to stop.
  bool decide() {
    std::vector<size_t> in = {0};
    for (size_t trial : finalists(scores(), kFinalists)) in.push_back(trial);
    std::vector<Fold> all = rounds();
    Stop stop = until(kFinalsShare * request_.budget_seconds);
    size_t group = units_.side_by_side() ? 2 : 1;  // enough trainings for some cores
    size_t done = 0;
    while (!now_.trials.empty() && done < all.size() &&
           run_rounds(in, std::span(all).subspan(done).first(std::min(group, all.size() - done)),
                      stop))
      done = std::min(done + group, all.size());
    if (told_to_stop()) {
      table_.save();
      return false;
    }
    std::vector<std::vector<double>> validation(in.size());
    now_.finals.resize(done * in.size());  // without rounds that time cut
    for (size_t i = 0; i < now_.finals.size(); ++i)
      validation[i % in.size()].push_back(now_.finals[i].validation);
    if (done < all.size())
      log("time was over after {} of {} trainings of each finalist", done, all.size());
    now_.winner = in[choose_winner(validation)];
    write_best();
    return true;
  }

  // Finals stand in the table round by round, the finalists in their order; those of a round that was
  // cut serve a later call. False: time is over.
  bool run_rounds(const std::vector<size_t>& in, std::span<const Fold> rounds, const Stop& stop) {
    std::vector<TrialUnit> units;
    for (const Fold& round : rounds)
      for (size_t trial : in)
        if (!table_.known_final(trial, round))
          units.push_back(unit_of("finals", trial, round, all_epochs(trial)));
    units_.train(units, stop, [&] { show("finals"); });
    bool whole = true;
    auto next = units.begin();
    for (const Fold& round : rounds)
      for (size_t trial : in) {
        const TuneFinal* known = table_.known_final(trial, round);
        const TrialUnit* unit = known ? nullptr : &*next++;
        if (known || unit->done)
          now_.finals.push_back(
              {trial, round.split, round.seed, known ? known->validation : unit->validation});
        else
          whole = false;
      }
    if (!units.empty()) table_.save();
    return whole;
  }

  void write_best() const {
    Config best =
        now_.trials.empty() ? starts_.front().config : config_of(now_.trials[now_.winner]);
    write_text(request_.out / "best.toml",
               "# chosen by spex tune on validation nodes\n" + to_toml(best));
  }

  // The only place where test nodes are looked at: trainings of the winner as `spex train` would do
  // them, of as many rounds as its finals had and as time is left for. False if told to stop.
  bool test_winner() {
    std::vector<TrialUnit> units;
    for (const TuneFinal& final : now_.finals)
      if (final.trial == now_.winner)
        units.push_back(
            unit_of("finals", now_.winner, {final.split, final.seed, {}}, all_epochs(now_.winner)));
    units_.train(units, until(request_.budget_seconds), [&] { show("test"); });
    if (told_to_stop()) {
      table_.save();
      return false;
    }
    std::vector<double> tests;
    for (const TrialUnit& unit : units)
      if (unit.done && !std::isnan(unit.validation)) {
        tests.push_back(units_.test(unit));
        now_.tests.push_back({unit.config.split.index, unit.seed, tests.back()});
      }
    if (tests.size() < units.size())
      log("{} of {} trainings of the winner came to their end in time", tests.size(), units.size());
    Moments m = moments(tests);
    now_.test_mean = tests.empty() ? kNone : m.mean;
    now_.test_std = m.deviation;
    return true;
  }

  TrialUnits units_;
  TuneRequest request_;
  TuneHooks hooks_;
  std::vector<Start> starts_;
  std::vector<Fold> folds_;
  bool divides_finals_ = false;  // there are too few validation nodes
  TuneTable table_;
  Tuning& now_ = table_.now;
};

}  // namespace

std::optional<Tuning> tune(const Dataset& data, const TuneRequest& request,
                           const TuneHooks& hooks) {
  require(!request.defaults.empty(), "tuning needs at least one model");
  require(request.seeds > 0 && request.most_trials > 0,
          "tuning needs at least one trial and one training of each finalist");
  for (const Config& config : request.defaults) {
    check(config);
    choose_split(data, config.split);  // throws before the folder is claimed
  }
  std::error_code error;
  fs::create_directories(request.out, error);
  require(!error, "cannot make the folder {}: {}", request.out.string(), error.message());
  RunLock lock(request.out / "lock");
  return Tuner(data, request, hooks).run();
}

}  // namespace spex
