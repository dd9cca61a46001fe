#include "cli/suggest.h"

#include <fmt/core.h>
#include <spex/core/text.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

namespace spex::cli {
namespace {

// The command the words led to, and what could have come next there.
const CLI::App* deepest(const CLI::App& app, int argc, char** argv, int& consumed) {
  const CLI::App* current = &app;
  for (consumed = 1; consumed < argc; ++consumed) {
    auto commands = current->get_subcommands(nullptr);
    auto next = std::find_if(commands.begin(), commands.end(), [&](const CLI::App* command) {
      return command->get_name() == argv[consumed];
    });
    if (next == commands.end()) break;
    current = *next;
  }
  return current;
}

std::vector<std::string> known_words(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* command : app.get_subcommands(nullptr)) words.push_back(command->get_name());
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  return words;
}

}  // namespace

std::string explain(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  int consumed = 0;
  const CLI::App* command = deepest(app, argc, argv, consumed);
  std::vector<std::string> words = known_words(*command);
  std::string help = "spex";
  for (int i = 1; i < consumed; ++i) help += fmt::format(" {}", argv[i]);
  help += " --help";
  for (int i = consumed; i < argc; ++i) {
    std::string word = argv[i];
    word = word.substr(0, word.find('='));
    bool option = word.starts_with("--");
    bool first = i == consumed && !command->get_subcommands(nullptr).empty();
    if (!option && !first) continue;
    if (std::find(words.begin(), words.end(), word) != words.end()) continue;
    std::string nearest = nearest_word(word, words);
    return fmt::format("there is no {} {}{} (see {})", option ? "option" : "command", word,
                       nearest.empty() ? std::string() : fmt::format("; did you mean {}?", nearest),
                       help);
  }
  return fmt::format("{} (see {})", error.what(), help);
}

}  // namespace spex::cli
