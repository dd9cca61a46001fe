#include "cli/estimate.h"

#include <fmt/core.h>
#include <spex/core/log.h>
#include <spex/core/threads.h>
#include <spex/run/run.h>
#include <spex/run/score_text.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/settings.h"

namespace spex::cli {
namespace {

struct EstimateCommand {
  Settings settings;
  std::string out;
};

void estimate(const EstimateCommand& request) {
  check_settings(request.settings);
  check_output(request.out, {request.settings.data, request.settings.config_file});
  Progress progress(request.settings.quiet);
  set_log_sink([&](std::string_view text) { progress.line(text); });
  catch_interrupts();
  Dataset data = open_data(request.settings.data);
  Config config = resolve(request.settings, data, interrupted);
  check(config);
  config.threads = use_threads(config.threads);
  progress.show(config);
  Problem problem = make_problem(std::move(data), config);
  RunHooks hooks;
  hooks.on_epoch = [&](const EpochRecord& record, size_t epochs) {
    progress.epoch(record, epochs);
  };
  hooks.stop = interrupted;
  EstimateResult result = run_estimate(problem, config, request.out, hooks);
  progress.finish();
  set_log_sink({});
  std::string metric(name(config.split.metric));
  fmt::print("{}: scores of {} attention edges; estimator: validation {}, test {}\n", request.out,
             problem.attention.edges(), score_text(metric, result.validation),
             score_text(metric, result.test));
}

}  // namespace

void add_estimate_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("estimate", "Phase 1 alone: attention scores that trainings can share");
  auto request = std::make_shared<EstimateCommand>();
  add_settings(*command, request->settings);
  command->add_option("--out", request->out, "The file of scores to write")
      ->type_name("FILE")
      ->required();
  command->footer(
      "Example:\n"
      "  spex estimate minesweeper --out scores.safetensors\n"
      "  spex train minesweeper --scores scores.safetensors --set spexphormer.width=64 --out "
      "runs/wide");
  command->callback([request] { estimate(*request); });
}

}  // namespace spex::cli
