#include "cli/settings.h"

#include <fmt/core.h>
#include <spex/core/error.h>
#include <spex/core/text.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <sstream>

namespace spex::cli {

CLI::Validator within(const Range& range) {
  auto complaint = [range](const std::string& text) {
    double value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool number = error == std::errc() && end == text.data() + text.size();
    return number && range.holds(value)
               ? std::string()
               : fmt::format("expected a number {}, got {}", range.text(), text);
  };
  return CLI::Validator(complaint, "");
}

void add_settings(CLI::App& app, Settings& s) {
  app.add_option("DATA", s.data, "A file, folder or generator (spex data generate --help)")
      ->required();
  app.add_option("--preset", s.preset,
                 "A paper's data set's settings (those of the data's name), or none")
      ->type_name("NAME");
  app.add_option("--config", s.config_file, "Settings from a TOML file")->type_name("FILE");
  app.add_option("--set", s.assignments, "One setting, as key=value; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  auto add_number = [&](const char* option, std::optional<size_t>& value, double most,
                        const char* meaning) {
    app.add_option(option, value, meaning)->type_name("N")->check(within({0, most}));
  };
  add_number("--seed", s.seed, 1e18, "First seed (0)");
  add_number("--split", s.split, 1e6, "Which of the stored splits (0)");
  add_number("--threads", s.threads, 1e6, "Threads (all CPUs)");
  app.add_flag("-q,--quiet", s.quiet, "Print the result alone, no progress");
}

void add_trainings(CLI::App& app, Settings& s) {
  app.add_option("--seeds", s.seeds, "Trainings; mean and spread are reported (1)")
      ->type_name("N")
      ->check(within({1, 1e6}));
  app.add_option("--members", s.members,
                 "Networks per training, to average (1, or what suits the data)")
      ->type_name("N")
      ->check(within({1, 1000}));
}

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::stringstream stream(list);
  for (std::string word; std::getline(stream, word, ',');)
    if (!word.empty()) words.push_back(word);
  return words;
}

std::vector<std::string> models_of(const std::string& list) {
  std::vector<std::string> names = words_of(list);
  check_models(names);
  return names;
}

std::vector<size_t> splits_of(const std::string& text, const Dataset& data) {
  std::vector<size_t> splits;
  if (text == "all")
    for (size_t i = 0; i < data.splits.size(); ++i) splits.push_back(i);
  else
    for (const std::string& word : words_of(text)) splits.push_back(parse_count(word, "--splits"));
  require(text.empty() || !splits.empty(),
          "{} stores no splits; leave --splits out, and --seeds gives several trainings",
          data.name);
  for (size_t split : splits) {
    require(split < data.splits.size(), "there is no split {}: {} stores {}", split, data.name,
            data.splits.size());
    require(std::ranges::count(splits, split) == 1, "--splits names {} twice", split);
  }
  return splits;
}

}  // namespace spex::cli
