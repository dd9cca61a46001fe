#include "cli/study.h"

#include <fmt/core.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/log.h>
#include <spex/core/threads.h>
#include <spex/report/report.h>
#include <spex/study/study.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/progress.h"
#include "cli/run_place.h"
#include "cli/settings.h"

namespace spex::cli {
namespace {

struct StudyCommand {
  Settings settings;
  std::string name;
  std::vector<size_t> widths = kStudyWidths;
  std::optional<size_t> nodes;
  std::filesystem::path out;
};

void list_studies() {
  for (const StudyInfo& study : studies())
    fmt::print("{:<12} {} ({})\n", study.name, study.title, study.place);
}

void study(StudyCommand command) {
  const StudyInfo& info = find_study(command.name);
  check_settings(command.settings);
  if (command.settings.data.empty()) command.settings.data = info.default_data;
  require(!command.settings.data.empty(),
          "spex study {} needs a data set: a file, a folder or a generator", info.name);
  Progress progress(command.settings.quiet);
  set_log_sink([&](std::string_view text) { progress.line(text); });
  catch_interrupts();
  StudyRequest request;
  request.data = open_data(command.settings.data);
  request.seeds = command.settings.seeds.value_or(info.seeds);
  command.settings.seeds.reset();  // of a study, not of each training
  command.settings.model = "spexphormer";
  request.config = resolve(command.settings, request.data, interrupted);
  request.config.threads = use_threads(request.config.threads);
  request.widths = command.widths;
  if (command.nodes) request.nodes = *command.nodes;
  request.out =
      command.out.empty() ? std::filesystem::path("studies") / request.data.name : command.out;
  request.command = command_line();
  request.hooks.stop = interrupted;
  StudyRecord record = run_study(info, request);
  progress.finish();
  set_log_sink({});
  std::filesystem::path page = request.out / (info.name + ".html");
  write_text(page, render_studies({record}));
  fmt::print("{}page: {}\n", to_text(record), page.string());
}

}  // namespace

void add_study_command(CLI::App& app) {
  auto* command = app.add_subcommand("study", "A figure or theorem of the paper; alone: list them");
  auto request = std::make_shared<StudyCommand>();
  command->add_option("NAME", request->name, "The study");
  add_settings(*command, request->settings);
  command->get_option("DATA")->required(false);
  command->add_option("--seeds", request->settings.seeds, "Trainings or draws of each kind")
      ->type_name("N")
      ->check(within({1, 1e6}));
  command
      ->add_option("--widths", request->widths, "Widths whose attention is compared (4,8,16,32,64)")
      ->type_name("LIST")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(within({1, 1024}));
  command->add_option("--nodes", request->nodes, "growth: nodes of the largest graph (1000000)")
      ->type_name("N")
      ->check(within({1, 4e9}));
  command
      ->add_option("--out", request->out,
                   "A folder: tables, pages and trained networks (studies/DATA)")
      ->type_name("DIR");
  command->footer(
      "Example:\n"
      "  spex study mixing minesweeper --out studies/mines\n"
      "  spex report studies/mines\n"
      "Networks are kept in the folder: studies of the same data share them, and the same\n"
      "command goes on after a stop.");
  command->callback([request] { request->name.empty() ? list_studies() : study(*request); });
}

}  // namespace spex::cli
