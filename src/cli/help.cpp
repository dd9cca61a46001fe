#include "cli/help.h"

#include <fmt/core.h>
#include <spex/core/error.h>
#include <spex/core/text.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

namespace spex::cli {
namespace {

// The command that the words lead to; throws at the first that is none.
CLI::App& command_of(CLI::App& app, const std::vector<std::string>& words) {
  CLI::App* command = &app;
  for (const std::string& word : words) {
    std::vector<std::string> names;
    CLI::App* next = nullptr;
    for (CLI::App* each : command->get_subcommands(nullptr)) {
      names.push_back(each->get_name());
      if (each->get_name() == word) next = each;
    }
    if (!next) fail("there is no command {}{}", word, did_you_mean(word, names));
    command = next;
  }
  return *command;
}

}  // namespace

void add_help_command(CLI::App& app) {
  auto* command = app.add_subcommand("help", "The help of a command, as --help behind it");
  auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("COMMAND", *words, "Which one, such as train, or data convert");
  command->footer("Example:\n  spex help data convert");
  command->callback([&app, words] {
    std::string name = "spex";
    for (const std::string& word : *words) name += " " + word;
    const CLI::App& explained = command_of(app, *words);
    fmt::print("{}",
               explained.get_formatter()->make_help(&explained, name, CLI::AppFormatMode::Normal));
  });
}

}  // namespace spex::cli
