#include "cli/report.h"

#include <fmt/core.h>
#include <spex/report/report.h>

#include <CLI/CLI.hpp>
#include <memory>

namespace spex::cli {

void add_report_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("report", "Write the page of a finished run, or of a folder of studies");
  auto run = std::make_shared<std::filesystem::path>();
  command->add_option("RUN", *run, "The run directory, or the folder of studies")->required();
  command->footer("Example:\n  spex report runs/mines");
  command->callback([run] {
    write_report(*run);
    fmt::print("{}\n", (*run / "report.html").string());
  });
}

}  // namespace spex::cli
