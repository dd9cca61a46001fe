#include "cli/tune.h"

#include <fmt/core.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/log.h>
#include <spex/core/stopwatch.h>
#include <spex/core/text.h>
#include <spex/core/threads.h>
#include <spex/report/report.h>
#include <spex/run/score_text.h>
#include <spex/run/tune.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

#include "cli/progress.h"
#include "cli/settings.h"

namespace spex::cli {
namespace {

struct TuneCommand {
  Settings settings;
  std::string models, splits, budget = "10m";
  std::optional<size_t> trials;
  std::filesystem::path out;
};

// "90s", "10m", "1.5h", or a number of seconds.
double parse_duration(const std::string& text) {
  std::string number = text;
  double unit = 1;
  if (!text.empty() && !std::isdigit(static_cast<unsigned char>(text.back()))) {
    unit = text.back() == 's' ? 1 : text.back() == 'm' ? 60 : text.back() == 'h' ? 3600 : 0;
    number.pop_back();
  }
  require(unit > 0, "--budget takes a time such as 90s, 10m or 1h, not \"{}\"", text);
  double seconds = unit * parse_real(number, "--budget takes a time such as 90s, 10m or 1h, but");
  require(seconds > 0, "--budget must be above 0, not \"{}\"", text);
  return seconds;
}

std::string describe(const TuneProgress& p, const std::string& metric) {
  std::string text = fmt::format("{} of {}  {}: {} trials", format_duration(p.seconds),
                                 format_duration(p.budget_seconds), p.stage, p.trials);
  if (!std::isnan(p.best)) text += "  best val " + score_text(metric, p.best);
  if (!std::isnan(p.start)) text += fmt::format(" (default {})", score_text(metric, p.start));
  return text;
}

TuneRequest request_of(const TuneCommand& command, const Dataset& data) {
  TuneRequest request;
  request.out = command.out;
  request.splits = splits_of(command.splits, data);
  request.seeds = command.settings.seeds.value_or(request.splits.size() > 1 ? 1 : 3);
  request.budget_seconds = parse_duration(command.budget);
  if (command.trials) request.most_trials = *command.trials;
  std::vector<std::string> names = models_of(command.models);
  Settings settings = command.settings;
  settings.seeds.reset();
  if (!request.splits.empty()) settings.split = request.splits.front();
  request.defaults = names.empty() ? std::vector<Config>{resolve(settings, data, interrupted)}
                                   : resolve_each(settings, names, {}, data, interrupted);
  return request;
}

void tune_settings(const TuneCommand& command) {
  Stopwatch watch;
  check_settings(command.settings);
  models_of(command.models);
  Progress progress(command.settings.quiet);
  set_log_sink([&](std::string_view text) { progress.line(text); });
  catch_interrupts();
  parse_duration(command.budget);  // refused before the data is read
  use_threads(command.settings.threads.value_or(0));
  Dataset data = open_data(command.settings.data);
  TuneRequest request = request_of(command, data);
  request.spent_seconds = watch.seconds();
  TuneHooks hooks;
  hooks.on_progress = [&, metric = std::string(name(request.defaults.front().split.metric))](
                          const TuneProgress& p) { progress.status(describe(p, metric)); };
  hooks.stop = interrupted;
  std::optional<Tuning> tuning = tune(data, request, hooks);
  progress.finish();
  set_log_sink({});
  require(tuning.has_value(), "stopped; the same command goes on where it was");
  write_text(command.out / "tune.html", render_tuning(*tuning));
  fmt::print("{}{} trials in {}; settings: {}, report: {}\n", to_table(*tuning),
             tuning->trials.size(), format_duration(tuning->seconds),
             (command.out / "best.toml").string(), (command.out / "tune.html").string());
}

}  // namespace

void add_tune_command(CLI::App& app) {
  auto* command = app.add_subcommand("tune", "Search for better settings on the validation nodes");
  auto request = std::make_shared<TuneCommand>();
  add_settings(*command, request->settings);
  request->settings.chooses_model = true;
  command
      ->add_option("--models", request->models,
                   "Models to search among, as gcn,mlp (the one that train would take)")
      ->type_name("NAMES");
  command
      ->add_option("--budget", request->budget, "Time for all of it, such as 90s, 10m or 1h (10m)")
      ->type_name("TIME");
  command
      ->add_option("--trials", request->trials, "At most so many configurations (as time allows)")
      ->type_name("N")
      ->check(within({1, 1e6}));
  command
      ->add_option("--seeds", request->settings.seeds,
                   "Trainings of each finalist on each split (3; with several splits 1)")
      ->type_name("N")
      ->check(within({1, 1e6}));
  command
      ->add_option("--splits", request->splits,
                   "Stored splits to judge on: all, or such as 0,3,5 (that of --split)")
      ->type_name("LIST");
  command->add_option("--out", request->out, "A folder for best.toml, the trials and the page")
      ->type_name("DIR")
      ->default_val("runs/tuned");
  command->footer(
      "Example:\n"
      "  spex tune graph.safetensors --budget 10m --out runs/tuned\n"
      "  spex train graph.safetensors --config runs/tuned/best.toml --out runs/best\n"
      "The same command continues a search that was stopped. Test nodes are looked at once,\n"
      "in the end, for the winner.");
  command->callback([request] { tune_settings(*request); });
}

}  // namespace spex::cli
