#include "cli/settings.h"

#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/log.h>
#include <spex/data/generators.h>
#include <spex/data/splits.h>
#include <spex/train/presets.h>
#include <spex/train/problem.h>

#include <CLI/App.hpp>
#include <algorithm>

namespace spex::cli {
namespace {

const Preset* find_preset(const std::string& name) {
  const auto& all = presets();
  auto found = std::find_if(all.begin(), all.end(),
                            [&](const Preset& preset) { return preset.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.emplace_back(preset.name);
  return names;
}

void apply_preset(Config& config, const std::string& name) {
  const Preset* preset = find_preset(name);
  if (!preset) {
    std::string nearest = nearest_word(name, preset_names());
    fail("there is no preset called {}{}; there are {}", name,
         nearest.empty() ? std::string() : fmt::format(" (did you mean {}?)", nearest),
         fmt::join(preset_names(), ", "));
  }
  apply_toml(config, preset->toml, fmt::format("preset {}", name));
  config.preset = name;
}

}  // namespace

void add_settings(CLI::App& app, Settings& s) {
  app.add_option("DATA", s.data, "A file, folder or generator (spex data generate --help)")
      ->required();
  app.add_option("--preset", s.preset,
                 "Settings of one of the paper's data sets (that of the data's name)")
      ->type_name("NAME");
  app.add_option("--config", s.config_file, "Settings from a TOML file")->type_name("FILE");
  app.add_option("--set", s.assignments, "One setting, as key=value; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--seed", s.seed, "First seed (0)")->type_name("N");
  app.add_option("--split", s.split, "Which of the stored splits (0)")->type_name("N");
  app.add_option("--threads", s.threads, "Threads (all cores)")->type_name("N");
}

Config resolve(const Settings& s, const Dataset& data) {
  bool own_preset = s.preset.empty() && s.config_file.empty() && find_preset(data.name);
  Config config;
  if (own_preset || !s.preset.empty()) {
    apply_preset(config, own_preset ? data.name : s.preset);
    log("preset {}", config.preset);
  } else {
    config = default_config(data);
  }
  if (!s.config_file.empty()) apply_toml(config, read_text(s.config_file), s.config_file);
  for (const std::string& assignment : s.assignments) apply_setting(config, assignment);
  // A run can be continued, and predicted with, from any folder.
  config.data = is_generator(s.data) ? s.data : std::filesystem::absolute(s.data).string();
  if (s.model) apply_setting(config, "model=" + *s.model);
  if (s.seed) config.seed = *s.seed;
  if (s.seeds) config.seeds = *s.seeds;
  if (s.split) {
    stored_split(data, *s.split);  // refuses one that is not there
    config.split.split = *s.split;
  }
  if (s.threads) config.threads = *s.threads;
  require(config.seeds > 0, "--seeds must be at least 1");
  return config;
}

}  // namespace spex::cli
