#include "cli/settings.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

namespace spex::cli {

std::string refuse_negative(const std::string& number) {
  return number.starts_with('-') ? fmt::format("expected 0 or more, got {}", number) : "";
}

void add_settings(CLI::App& app, RunSettings& s) {
  app.add_option("DATA", s.data, "A file, folder or generator (spex data generate --help)")
      ->required();
  app.add_option("--preset", s.preset,
                 "Settings of one of the paper's data sets (that of the data's name), or none")
      ->type_name("NAME");
  app.add_option("--config", s.config_file, "Settings from a TOML file")->type_name("FILE");
  app.add_option("--set", s.assignments, "One setting, as key=value; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  auto add_number = [&](const char* option, std::optional<size_t>& value, const char* meaning) {
    app.add_option(option, value, meaning)->type_name("N")->check(refuse_negative);
  };
  add_number("--seed", s.seed, "First seed (0)");
  add_number("--split", s.split, "Which of the stored splits (0)");
  add_number("--threads", s.threads, "Threads (all CPUs)");
}

}  // namespace spex::cli
