#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/hash.h>
#include <spex/core/log.h>
#include <spex/core/stopwatch.h>
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

namespace spex {
namespace {

namespace fs = std::filesystem;

constexpr size_t kWave = 8;            // jobs decided at once, whatever the number of threads
constexpr double kSearchShare = 0.6;   // of the budget; the rest is for the finals
constexpr size_t kFinalists = 3;       // beside the default
constexpr size_t kEnoughNodes = 1000;  // validation nodes that a trial is judged by, all folds
constexpr size_t kMostFolds = 4;
constexpr size_t kSearchSeed = 1000;  // the finals' seeds are not those of the search
constexpr double kSaveSeconds = 5;    // between two writings of the table within a wave
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Where a trial is judged.
struct Fold {
  size_t split = 0, seed = 0;
};

// A model, its default and what of it is searched.
struct Start {
  Config config;
  SearchSpace space;
};

class Tuner {
 public:
  Tuner(const Dataset& data, const TuneRequest& request, const TuneHooks& hooks)
      : units_(data), request_(request), hooks_(hooks) {
    for (const Config& config : request.defaults) {
      check(config);
      starts_.push_back({config, search_space(config)});
    }
    if (request_.splits.empty()) request_.splits = {request.defaults.front().split.index};
    fold_search();
  }

  std::optional<Tuning> run() {
    open();
    if (known_.finished) {
      log("{} holds a finished search; give another --out for a new one", request_.out.string());
      return known_;
    }
    if (!search() || !decide()) return std::nullopt;
    while (!now_.trials.empty() && now_.trials.back().steps.empty()) now_.trials.pop_back();
    now_.finished = true;
    save();
    fs::remove_all(request_.out / "trials");
    fs::remove_all(request_.out / "finals");
    return now_;
  }

 private:
  // ---- what is on disk

  // Takes up what an earlier search with the same defaults left.
  void open() {
    fs::path file = request_.out / "tune.json";
    Tuning begun;
    begun.data = units_.data().name;
    begun.fingerprint = fmt::format("{:016x}", fingerprint(units_.data()));
    begun.splits = request_.splits;
    const Config& first = starts_.front().config;
    begun.metric = name(Objective(units_.data().labels, first.split.metric).metric());
    for (const Start& start : starts_) begun.defaults.push_back(comparable(start.config));
    if (fs::exists(file)) {
      known_ = parse_tuning(read_text(file), file.string());
      require(known_.fingerprint == begun.fingerprint && known_.splits == begun.splits &&
                  known_.defaults == begun.defaults,
              "{} holds a search from other data, splits, models or settings; give another --out",
              request_.out.string());
    }
    before_ = known_.seconds + request_.spent_seconds;
    now_ = begun;
    now_.budget_seconds = request_.budget_seconds;
    if (!fs::exists(file)) save();  // the states of trials belong to this search from now on
  }

  static std::string comparable(Config config) {
    config.data.clear();
    config.threads = 0;
    return to_toml(config);
  }

  void save() {
    now_.seconds = elapsed();
    write_text(request_.out / "trials.csv", to_csv(now_));
    write_text(request_.out / "tune.json", to_json(now_));
    saved_ = Stopwatch();
  }

  // ---- time

  double elapsed() const { return before_ + watch_.seconds(); }
  bool told_to_stop() const { return hooks_.stop && hooks_.stop(); }
  Stop until(double seconds) const {
    return [this, seconds] { return told_to_stop() || elapsed() >= seconds; };
  }

  void show(const std::string& stage) {
    if (!hooks_.on_progress) return;
    TuneProgress p{elapsed(), request_.budget_seconds, 0, kNone, kNone, stage};
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

  // The splits, and seeds where there are not enough of them, that a trial is judged on.
  void fold_search() {
    const Config& first = starts_.front().config;
    size_t nodes = choose_split(units_.data(), first.split).validation.size();
    size_t wanted = (kEnoughNodes + nodes - 1) / nodes;
    size_t count = std::clamp<size_t>(wanted, 1, kMostFolds);
    for (size_t i = 0; i < count; ++i)
      folds_.push_back({request_.splits[i % request_.splits.size()],
                        first.seed + kSearchSeed + i / request_.splits.size()});
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

  fs::path state_file(const char* folder, size_t trial, const Fold& fold) const {
    // With what was trained in its name: another version of the program may draw other trials.
    std::string settings = fmt::format("{}", fmt::join(now_.trials[trial].settings, ";"));
    uint64_t hash = hash_bytes(0, std::as_bytes(std::span(settings)));
    return request_.out / folder /
           fmt::format("{}-{:016x}-{}-{}.safetensors", trial, hash, fold.split, fold.seed);
  }

  TrialUnit unit_of(const char* folder, size_t trial, const Fold& fold, size_t epochs) const {
    TrialUnit unit;
    unit.config = config_of(now_.trials[trial]);
    unit.config.split.index = fold.split;
    unit.seed = fold.seed;
    unit.epochs = epochs;
    unit.file = state_file(folder, trial, fold);
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

  // What an earlier call trained under this number; none if its settings were others.
  const TuneTrial* known_trial(size_t trial) const {
    if (trial >= known_.trials.size()) return nullptr;
    const TuneTrial& known = known_.trials[trial];
    return known.settings == now_.trials[trial].settings ? &known : nullptr;
  }

  const TuneStep* known_step(const Job& job) const {
    const TuneTrial* known = known_trial(job.trial);
    return known && job.rung < known->steps.size() ? &known->steps[job.rung] : nullptr;
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
      if (known_step(job)) continue;
      size_t epochs = epochs_of(job);
      for (const Fold& fold : folds_) units.push_back(unit_of("trials", job.trial, fold, epochs));
    }
    units_.train(units, stop, [&] { show("search"); });
    bool whole = true;
    auto next = units.begin();
    for (const Job& job : jobs) {
      std::vector<TuneStep>& steps = now_.trials[job.trial].steps;
      if (const TuneStep* known = known_step(job)) {
        steps.push_back(*known);
        continue;
      }
      auto end = next + static_cast<std::ptrdiff_t>(folds_.size());
      bool done = std::all_of(next, end, [](const TrialUnit& unit) { return unit.done; });
      if (done) steps.push_back(step_of({next, end}, epochs_of(job)));
      whole = whole && done;
      next = end;
    }
    if (!units.empty() && (units_.side_by_side() || saved_.seconds() > kSaveSeconds)) save();
    return whole;
  }

  size_t epochs_of(const Job& job) const {
    size_t all = start_of(now_.trials[job.trial]).config.final().recipe.epochs;
    return rung_epochs(all)[job.rung];
  }

  TuneStep step_of(const std::vector<TrialUnit>& units, size_t epochs) const {
    TuneStep step{epochs, 0, 0, elapsed()};
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
        for (const Fold& fold : folds_) fs::remove(state_file("trials", i, fold));
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
    save();
    return !told_to_stop();
  }

  // ---- the finals

  // The default and the best of the search on all splits and seeds, one split and seed after the
  // other, so that time may end it anywhere.
  bool decide() {
    std::vector<size_t> in = {0};
    for (size_t trial : finalists(scores(), kFinalists)) in.push_back(trial);
    size_t complete = 0;
    std::vector<Fold> rounds;
    for (size_t s = 0; s < request_.seeds; ++s)
      for (size_t split : request_.splits)
        rounds.push_back({split, starts_.front().config.seed + s});
    Stop stop = until(request_.budget_seconds);
    size_t group = units_.side_by_side() ? 2 : 1;  // enough trainings for some cores
    bool whole = !now_.trials.empty();
    for (size_t first = 0; first < rounds.size() && whole; first += group) {
      std::vector<Fold> some(rounds.begin() + first,
                             rounds.begin() + std::min(first + group, rounds.size()));
      whole = run_rounds(in, some, stop);
      if (whole) complete += some.size();
    }
    if (told_to_stop()) {
      save();
      return false;
    }
    std::vector<std::vector<double>> validation(in.size());
    for (size_t i = 0; i < complete * in.size(); ++i)
      validation[i % in.size()].push_back(now_.finals[i].validation);
    now_.finals.resize(complete * in.size());
    if (complete < rounds.size())
      log("time was over after {} of {} trainings of each finalist", complete, rounds.size());
    now_.winner = in[choose_winner(validation)];
    write_best();
    test_winner();
    return true;
  }

  const TuneFinal* known_final(size_t trial, const Fold& round) const {
    if (!known_trial(trial)) return nullptr;
    for (const TuneFinal& f : known_.finals)
      if (f.trial == trial && f.split == round.split && f.seed == round.seed) return &f;
    return nullptr;
  }

  // Finals stand in the table round by round, the finalists in their order. False: time is over.
  bool run_rounds(const std::vector<size_t>& in, const std::vector<Fold>& rounds,
                  const Stop& stop) {
    std::vector<TrialUnit> units;
    for (const Fold& round : rounds)
      for (size_t trial : in)
        if (!known_final(trial, round)) {
          size_t all = start_of(now_.trials[trial]).config.final().recipe.epochs;
          units.push_back(unit_of("finals", trial, round, all));
        }
    units_.train(units, stop, [&] { show("finals"); });
    if (!std::all_of(units.begin(), units.end(), [](const TrialUnit& unit) { return unit.done; }))
      return false;
    auto next = units.begin();
    for (const Fold& round : rounds)
      for (size_t trial : in) {
        const TuneFinal* known = known_final(trial, round);
        double validation = known ? known->validation : (next++)->validation;
        now_.finals.push_back({trial, round.split, round.seed, validation, kNone});
      }
    if (!units.empty()) save();
    return true;
  }

  void write_best() const {
    Config best =
        now_.trials.empty() ? starts_.front().config : config_of(now_.trials[now_.winner]);
    write_text(request_.out / "best.toml",
               "# chosen by spex tune on validation nodes\n" + to_toml(best));
  }

  // The only place where test nodes are looked at: the winner's trainings of the finals.
  void test_winner() {
    std::vector<double> tests;
    for (TuneFinal& final : now_.finals)
      if (final.trial == now_.winner) {
        final.test = units_.test(unit_of("finals", final.trial, {final.split, final.seed}, 0));
        tests.push_back(final.test);
      }
    Moments m = moments(tests);
    now_.test_mean = tests.empty() ? kNone : m.mean;
    now_.test_std = m.deviation;
  }

  TrialUnits units_;
  TuneRequest request_;
  TuneHooks hooks_;
  std::vector<Start> starts_;
  std::vector<Fold> folds_;
  Tuning known_;  // of an earlier call
  Tuning now_;
  double before_ = 0;  // seconds of the budget that earlier calls took
  Stopwatch watch_, saved_;
};

}  // namespace

std::optional<Tuning> tune(const Dataset& data, const TuneRequest& request,
                           const TuneHooks& hooks) {
  require(!request.defaults.empty(), "tuning needs at least one model");
  require(request.seeds > 0 && request.most_trials > 0,
          "tuning needs at least one trial and one training of each finalist");
  std::error_code error;
  fs::create_directories(request.out, error);
  require(!error, "cannot make the folder {}: {}", request.out.string(), error.message());
  RunLock lock(request.out / "lock");
  return Tuner(data, request, hooks).run();
}

}  // namespace spex
