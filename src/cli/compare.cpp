#include "cli/compare.h"

#include <fmt/core.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/log.h>
#include <spex/core/threads.h>
#include <spex/report/report.h>
#include <spex/run/compare.h>
#include <spex/version.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/progress.h"
#include "cli/run_place.h"
#include "cli/settings.h"

namespace spex::cli {
namespace {

struct CompareCommand {
  Settings settings;
  std::string models, splits;
  std::filesystem::path out;
};

void compare(CompareCommand& request) {
  check_settings(request.settings);
  compare_alike(request.settings);
  std::vector<std::string> models = models_of(request.models);
  Progress progress(request.settings.quiet);
  set_log_sink([&](std::string_view text) { progress.line(text); });
  catch_interrupts();
  Dataset data = open_data(request.settings.data);
  CompareRequest wanted;
  wanted.out = request.out;
  wanted.command = command_line();
  wanted.version = SPEX_VERSION;
  wanted.configs =
      resolve_each(request.settings, models, splits_of(request.splits, data), data, interrupted);
  for (Config& config : wanted.configs) {
    config.threads = use_threads(config.threads);
    progress.show(config);
  }
  RunHooks hooks;
  hooks.on_epoch = [&](const EpochRecord& record, size_t epochs) {
    progress.epoch(record, epochs);
  };
  hooks.stop = interrupted;
  std::optional<Comparison> comparison = compare_models(data, wanted, hooks);
  progress.finish();
  set_log_sink({});
  require(comparison.has_value(), "stopped; the same command goes on from the last epoch");
  write_text(request.out / "compare.html", render_comparison(*comparison));
  fmt::print("{}report: {}\n", to_table(*comparison), (request.out / "compare.html").string());
}

}  // namespace

void add_compare_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("compare", "Train several models on the same splits and compare them");
  auto request = std::make_shared<CompareCommand>();
  add_settings(*command, request->settings);
  command
      ->add_option("--models", request->models, "Their names, as gcn,mlp; spex models lists them")
      ->type_name("NAMES")
      ->required();
  add_trainings(*command, request->settings);
  command
      ->add_option("--splits", request->splits,
                   "Stored splits to train on: all, or such as 0,3,5 (that of --split)")
      ->type_name("LIST");
  command->add_option("--out", request->out, "A folder: a run directory per model and split inside")
      ->type_name("DIR")
      ->default_val("runs/compare");
  command->footer(
      "Example:\n"
      "  spex compare minesweeper --models mlp,gcn,exphormer --seeds 3 --out runs/compared\n"
      "The same command continues a comparison that was stopped.");
  command->callback([request] { compare(*request); });
}

}  // namespace spex::cli
