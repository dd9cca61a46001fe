// The program. Errors end here: one sentence on stderr, exit code 1 (2 for a wrong command line).
#include <fmt/format.h>
#include <spex/core/error.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "cli/data.h"
#include "cli/estimate.h"
#include "cli/generate.h"
#include "cli/predict.h"
#include "cli/report.h"
#include "cli/suggest.h"
#include "cli/train.h"

namespace {

void add_commands(CLI::App& app) {
  using namespace spex::cli;  // NOLINT
  add_train_command(app);
  add_estimate_command(app);
  add_predict_command(app);
  add_report_command(app);
  CLI::App* data = app.add_subcommand("data", "Look at, convert or make data sets");
  data->require_subcommand(1);
  add_data_commands(*data);
  add_generate_command(*data);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "spex trains sparse graph transformers (Spexphormer) for node prediction on ordinary "
      "machines.",
      "spex");
  app.require_subcommand(1);
  app.set_version_flag("--version", "spex 0.1.0");
  app.footer(
      "Example:\n"
      "  spex train minesweeper --out runs/first\n"
      "Each command explains itself: spex train --help");
  add_commands(app);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForAllHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& version) {
    return app.exit(version);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "spex: {}\n", spex::cli::explain(app, error, argc, argv));
    return 2;
  } catch (const spex::Error& error) {
    fmt::print(stderr, "spex: {}\n", error.what());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "spex: the system has no more memory to give\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "spex: {}\n", error.what());
  }
  return 1;
}
