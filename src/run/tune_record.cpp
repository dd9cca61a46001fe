#include <fmt/format.h>
#include <spex/core/text.h>
#include <spex/run/score_text.h>
#include <spex/run/tune.h>

#include <algorithm>

#include "run/json_fields.h"
#include "run/moments.h"

namespace spex {

// The keys of tune.json; found by their argument.
void fields(auto& io, TuneStep& s) {
  io("epochs", s.epochs);
  io("val", s.validation);
  io("seconds", s.seconds);
  io("at", s.at);
}

void fields(auto& io, TuneTrial& t) {
  io("model", t.model);
  io("settings", t.settings);
  io("steps", t.steps);
}

void fields(auto& io, TuneFinal& f) {
  io("finalist", f.finalist);
  io("split", f.split);
  io("seed", f.seed);
  io("networks", f.networks);
  io("val", f.validation);
}

void fields(auto& io, TuneTest& t) {
  io("split", t.split);
  io("seed", t.seed);
  io("test", t.test);
}

void fields(auto& io, Tuning& t) {
  io("data", t.data);
  io("metric", t.metric);
  io("fingerprint", t.fingerprint);
  io("splits", t.splits);
  io("budget_seconds", t.budget_seconds);
  io("seconds", t.seconds);
  io("finished", t.finished);
  io("winner", t.winner);
  io("test_mean", t.test_mean);
  io("test_std", t.test_std);
  io("defaults", t.defaults);
  io("trials", t.trials);
  io("finalists", t.finalists);
  io("finals", t.finals);
  io("tests", t.tests);
}

std::string to_json(const Tuning& tuning) {
  return write_json(tuning, 1);
}

Tuning parse_tuning(const std::string& text, const std::string& source) {
  return read_json<Tuning>(text, source);
}

std::string to_csv(const Tuning& tuning) {
  std::string text = "trial,model,epochs,val,seconds,at,settings\n";
  for (size_t i = 0; i < tuning.trials.size(); ++i) {
    const TuneTrial& t = tuning.trials[i];
    for (const TuneStep& s : t.steps)
      text +=
          fmt::format("{},{},{},{},{:.2f},{:.1f},{}\n", i, csv_field(t.model), s.epochs,
                      std::isnan(s.validation) ? "" : fmt::format("{}", s.validation), s.seconds,
                      s.at, csv_field(fmt::format("{}", fmt::join(t.settings, "; "))));
  }
  return text;
}

namespace {

// What a trial has other than the default of its model.
std::string differences(const Tuning& tuning, size_t trial) {
  const TuneTrial& t = tuning.trials[trial];
  auto start = std::find_if(tuning.trials.begin(), tuning.trials.end(),
                            [&](const TuneTrial& each) { return each.model == t.model; });
  std::vector<std::string> settings;
  for (size_t i = 0; i < t.settings.size(); ++i)
    if (t.settings[i] != start->settings.at(i)) settings.push_back(t.settings[i]);
  if (settings.empty()) return fmt::format("{}, default settings", t.model);
  return fmt::format("{}", fmt::join(settings, " "));
}

// Trials that predict together, or what one has other than the default.
std::string described(const Tuning& tuning, const Finalist& finalist) {
  if (finalist.size() == 1) return differences(tuning, finalist.front());
  return fmt::format("networks of trials {} together", fmt::join(finalist, ", "));
}

}  // namespace

std::string to_table(const Tuning& tuning) {
  std::string text = fmt::format("{:<10} {:>26} {:>8}  {}\n", "trial",
                                 "validation " + score_head(tuning.metric), "networks", "settings");
  for (size_t f = 0; f < tuning.finalists.size(); ++f) {
    std::vector<double> values;
    size_t networks = 0;
    for (const TuneFinal& final : tuning.finals)
      if (final.finalist == f) {
        values.push_back(final.validation);
        networks = std::max(networks, final.networks);
      }
    Moments m = moments(values);
    if (values.empty()) continue;
    text += fmt::format(
        "{:<10} {:>26} {:>8}  {}{}\n", fmt::format("{}", fmt::join(tuning.finalists[f], "+")),
        fmt::format("{} ({})", mean_text(tuning.metric, m.mean, m.deviation, values.size()),
                    values.size()),
        networks, described(tuning, tuning.finalists[f]), f == tuning.winner ? "  **" : "");
  }
  text += tuning.winner == 0 ? "** the default is kept: nothing beats it by more than the noise\n"
                             : "** the winner: better than the default by more than the noise\n";
  if (!std::isnan(tuning.test_mean))
    text += fmt::format("its test {}: {} ± {}\n", tuning.metric,
                        score_text(tuning.metric, tuning.test_mean),
                        spread_text(tuning.metric, tuning.test_std));
  return text;
}

}  // namespace spex
