#include "cli/train.h"

#include <fmt/core.h>
#include <spex/core/error.h>
#include <spex/core/log.h>
#include <spex/core/memory.h>
#include <spex/core/stopwatch.h>
#include <spex/core/text.h>
#include <spex/core/threads.h>
#include <spex/plan/planner.h>
#include <spex/report/report.h>
#include <spex/run/run.h>
#include <spex/run/score_text.h>
#include <spex/version.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/progress.h"
#include "cli/run_place.h"
#include "cli/settings.h"

namespace spex::cli {
namespace {

struct TrainCommand {
  Settings settings;
  RunOptions run;
  std::string memory;
  bool dry_run = false;
};

void print_result(const RunSummary& s, size_t members, const std::filesystem::path& out) {
  fmt::print("{}{}: {} nodes, {} edges", s.data, s.synthetic ? " (synthetic)" : "", s.nodes,
             s.edges);
  if (s.attention_edges > 0)
    fmt::print(", {} attention edges, {:.1f}% of them kept", s.attention_edges,
               s.edges_kept_percent);
  fmt::print("\n");
  if (s.estimator.epochs > 0)
    fmt::print("estimator    {} {}   {:.1f} ms per epoch, peak {:.1f} MB\n", s.metric,
               score_text(s.metric, s.estimator_test), 1e3 * s.estimator.epoch_seconds,
               1e-6 * static_cast<double>(s.estimator.peak_bytes));
  std::string spread = s.seeds.size() > 1 ? " ± " + spread_text(s.metric, s.test_std) : "";
  std::string averaged = members > 1 ? fmt::format(" ({} networks averaged)", members) : "";
  fmt::print("{:<12} {} {}{}{}   {:.1f} ms per epoch, peak {:.1f} MB\n", s.model, s.metric,
             score_text(s.metric, s.test_mean), spread, averaged, 1e3 * s.final.epoch_seconds,
             1e-6 * static_cast<double>(s.final.peak_bytes));
  fmt::print("{:.1f} s, {:.0f} MB of memory in all; report: {}\n", s.seconds,
             1e-6 * static_cast<double>(s.peak_rss_bytes), (out / "report.html").string());
}

void train(TrainCommand& request) {
  check_settings(request.settings);
  std::optional<size_t> memory;
  if (!request.memory.empty()) memory = parse_size(request.memory);
  require(!request.run.resume || !request.run.replace, "--resume and --force exclude each other");
  if (request.run.out.empty())
    request.run.out = default_run(request.settings.data, request.run.resume);
  request.run.command = command_line();
  request.run.version = SPEX_VERSION;
  Progress progress(request.settings.quiet);
  set_log_sink([&](std::string_view text) { progress.line(text); });
  catch_interrupts();
  if (auto& wanted = request.settings.threads) wanted = use_threads(*wanted);
  Stopwatch watch;
  Dataset data = open_data(request.settings.data);
  request.run.read_seconds = watch.seconds();
  if (!request.run.scores.empty()) request.settings.chooses_model = false;
  Config config = resolve(request.settings, data, interrupted);
  config.threads = use_threads(config.threads);
  progress.show(config);
  check(config);
  PreparedData prepared = prepare(std::move(data), config.features);
  PlanInput input = plan_input(prepared.data, config);
  input.scores_given = !request.run.scores.empty();
  request.run.plan = memory ? fit_plan(input, config, *memory) : make_plan(input, config);
  if (request.dry_run) {
    fmt::print("{}", describe(request.run.plan));
    return;
  }
  Problem problem = make_problem(std::move(prepared), config);
  RunHooks hooks;
  hooks.on_epoch = [&](const EpochRecord& record, size_t epochs) {
    progress.epoch(record, epochs);
  };
  hooks.stop = interrupted;
  hooks.on_start = [&] { link_latest(request.run.out); };
  RunResult result = run_training(std::move(problem), config, request.run, hooks);
  progress.finish();
  set_log_sink({});
  if (!result.finished)
    fail("stopped; the same command with --resume continues from the last epoch");
  write_report(request.run.out);
  print_result(result.record.summary, config.members, request.run.out);
}

}  // namespace

void add_train_command(CLI::App& app) {
  auto* command = app.add_subcommand("train", "Train a model and write a run directory");
  auto request = std::make_shared<TrainCommand>();
  add_settings(*command, request->settings);
  request->settings.chooses_model = true;
  command
      ->add_option("--model", request->settings.model,
                   "One of spex models (that of the preset, or what suits the data)")
      ->type_name("NAME");
  add_trainings(*command, request->settings);
  command
      ->add_option("--scores", request->run.scores,
                   "Attention scores from `spex estimate` in place of phase 1")
      ->type_name("FILE");
  command
      ->add_option("--out", request->run.out,
                   "The run directory (a new one in runs; runs/latest leads to it)")
      ->type_name("DIR");
  command
      ->add_option("--memory", request->memory,
                   "Stay below this, such as 2GiB: sets the batch size, or refuses")
      ->type_name("SIZE");
  command->add_flag("--dry-run", request->dry_run,
                    "Print the plan, bytes and time per phase, and stop");
  command
      ->add_option("--checkpoint-seconds", request->run.checkpoint_seconds,
                   "Seconds between checkpoints, which --resume continues from (60)")
      ->type_name("S")
      ->check(within({0, 1e9}));
  command->add_flag("--resume", request->run.resume, "Continue the run in --out (runs/latest)");
  command->add_flag("--force", request->run.replace, "Train anew in place of the run in --out");
  command->footer(
      "Examples:\n"
      "  spex train minesweeper --out runs/mines\n"
      "  spex train graph.safetensors --seeds 5 --set spexphormer.degrees=[10,5] --out runs/mine\n"
      "The settings in force stand, with their meaning, in the run's config.toml.");
  command->callback([request] { train(*request); });
}

}  // namespace spex::cli
