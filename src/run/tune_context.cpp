#include "run/tune_context.h"

#include <fmt/format.h>
#include <spex/data/fingerprint.h>
#include <spex/train/objective.h>

#include <algorithm>
#include <cmath>

namespace spex {
namespace {

TuneRequest with_splits(TuneRequest request) {
  if (request.splits.empty()) request.splits = {request.defaults.front().split.index};
  return request;
}

Tuning begun(const Dataset& data, const TuneRequest& request) {
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

}  // namespace

TuneContext::TuneContext(const Dataset& data, const TuneRequest& asked, const TuneHooks& hooks)
    : units(data),
      request(with_splits(asked)),
      hooks(hooks),
      table(request.out, begun(data, request), request.spent_seconds),
      judges(choose_split(data, request.defaults.front().split).validation.size()) {
  bool classes = data.labels.task == Task::classes;
  for (const Config& config : request.defaults)
    starts.push_back({config, search_space(config, classes)});
}

Stop TuneContext::until(double seconds) const {
  return [this, seconds] { return told_to_stop() || table.elapsed() >= seconds; };
}

void TuneContext::show(const std::string& stage) const {
  if (!hooks.on_progress) return;
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  TuneProgress p{table.elapsed(), request.budget_seconds, 0, none, none, stage};
  for (size_t i = 0; i < table.now.trials.size(); ++i) {
    if (table.now.trials[i].steps.empty()) continue;
    double score = table.now.trials[i].steps.back().validation;
    ++p.trials;
    if (i == 0) p.start = score;
    if (!(p.best >= score)) p.best = std::isnan(score) ? p.best : score;
  }
  hooks.on_progress(p);
}

const TuneStart& TuneContext::start_of(const TuneTrial& trial) const {
  return *std::find_if(starts.begin(), starts.end(),
                       [&](const TuneStart& s) { return s.config.model == trial.model; });
}

Assignment values_in(const TuneTrial& trial) {
  Assignment values;
  for (const std::string& each : trial.settings) values.push_back(each.substr(each.find('=') + 1));
  return values;
}

Config TuneContext::config_of(const TuneTrial& trial) const {
  const TuneStart& start = start_of(trial);
  Config config = with_values(start.config, start.space, values_in(trial));
  bool is_default = values_in(trial) == values_of(start.space, start.config);
  if (!is_default) config.variants.clear();  // they are what the default's networks differ in
  return config;
}

size_t TuneContext::all_epochs(size_t trial) const {
  return start_of(table.now.trials[trial]).config.final().recipe.epochs;
}

std::vector<RungScores> TuneContext::scores() const {
  std::vector<RungScores> all;
  for (const TuneTrial& trial : table.now.trials) {
    RungScores& s = all.emplace_back();
    for (const TuneStep& step : trial.steps) s.push_back(step.validation);
  }
  return all;
}

TrialUnit TuneContext::unit_of(const char* folder, size_t trial, const Fold& fold,
                               size_t epochs) const {
  TrialUnit unit;
  unit.config = config_of(table.now.trials[trial]);
  unit.config.split.index = fold.split;
  unit.seed = fold.seed;
  unit.epochs = epochs;
  unit.division = fold.division;
  unit.file = table.state_file(folder, trial, fold);
  unit.may_fail = trial > 0;
  return unit;
}

}  // namespace spex
