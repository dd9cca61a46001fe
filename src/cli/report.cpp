#include "cli/report.h"

#include <fmt/core.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/report/report.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/outputs.h"

namespace spex::cli {
namespace {

struct ReportCommand {
  std::vector<std::filesystem::path> runs;
  std::filesystem::path out;
};

// One run: its page, in its folder. Several: a page of their own.
void report(const ReportCommand& request) {
  if (request.runs.size() == 1) {
    require(request.out.empty(), "the page of one run is written into its folder, without --out");
    write_report(request.runs.front());
    fmt::print("{}\n", (request.runs.front() / "report.html").string());
    return;
  }
  auto page = request.out.empty() ? std::filesystem::path("compare.html") : request.out;
  check_output(page, request.runs);
  Comparison comparison = compare_runs(request.runs);
  write_text(page, render_comparison(comparison));
  fmt::print("{}{}\n", to_table(comparison), page.string());
}

}  // namespace

void add_report_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "report", "Write the page of a run, of several, or of a folder of studies");
  auto request = std::make_shared<ReportCommand>();
  command
      ->add_option("RUNS", request->runs,
                   "Run directories: several are compared; or a folder of studies")
      ->required();
  command->add_option("--out", request->out, "The page of a comparison (compare.html)")
      ->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  spex report runs/mines\n"
      "  spex report studies\n"
      "  spex report runs/narrow runs/wide --out widths.html");
  command->callback([request] { report(*request); });
}

}  // namespace spex::cli
