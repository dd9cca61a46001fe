// The program. Errors end here: one sentence on stderr, exit code 1 (2 for a wrong command line, 130
// or 143 where Ctrl-C or SIGTERM stopped it).
#include <fmt/core.h>
#include <spex/core/cpu.h>
#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/version.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>

#include "cli/compare.h"
#include "cli/data.h"
#include "cli/estimate.h"
#include "cli/generate.h"
#include "cli/help.h"
#include "cli/models.h"
#include "cli/predict.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/study.h"
#include "cli/suggest.h"
#include "cli/train.h"
#include "cli/tune.h"

namespace {

void add_commands(CLI::App& app) {
  using namespace spex::cli;  // NOLINT
  add_train_command(app);
  add_estimate_command(app);
  add_predict_command(app);
  add_models_command(app);
  add_compare_command(app);
  add_tune_command(app);
  add_study_command(app);
  add_report_command(app);
  CLI::App* data = app.add_subcommand("data", "Look at, convert or make data sets");
  data->require_subcommand(1);
  add_data_commands(*data);
  add_generate_command(*data);
  add_help_command(app);
}

// stderr may be a full disk or a closed terminal, too: that must not hide the exit code.
int complain(const std::string& sentence, int code) {
  std::fputs(fmt::format("spex: {}\n", sentence).c_str(), stderr);
  return code;
}

// What was printed must have arrived: standard output may be a file on a full disk.
void check_output() {
  bool written = std::fflush(stdout) == 0 && std::cout.flush().good();
  spex::require(written, "cannot write to standard output: {}", std::strerror(errno));
}

std::string version() {
  return fmt::format("spex {}\ninstruction set {}\nthreads {}", SPEX_VERSION, spex::describe_isa(),
                     spex::threads());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "spex trains sparse graph transformers (Spexphormer) for node prediction on ordinary "
      "machines.",
      "spex");
  app.require_subcommand(1);
  app.set_version_flag("--version", version);
  app.footer(
      "Example:\n"
      "  spex train minesweeper --out runs/first\n"
      "Each command explains itself: spex train --help");
  add_commands(app);
  try {
    spex::isa();  // a wrong SPEX_ISA is a wrong command line, too
  } catch (const spex::Error& error) {
    return complain(error.what(), 2);
  }
  try {
    app.parse(argc, argv);
    check_output();
    return 0;
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForAllHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& version) {
    return app.exit(version);
  } catch (const CLI::ParseError& error) {
    return complain(spex::cli::explain(app, error, argc, argv), 2);
  } catch (const std::bad_alloc&) {
    return complain("the system has no more memory to give", 1);
  } catch (const std::exception& error) {
    return complain(error.what(), spex::cli::failure_code());
  }
}
