#include "cli/settings.h"

#include <fmt/format.h>
#include <spex/config/presets.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/log.h>
#include <spex/core/text.h>
#include <spex/data/generators.h>
#include <spex/data/splits.h>
#include <spex/run/defaults.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <sstream>

#include "cli/progress.h"

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
    fail("there is no preset called {}{}; there are {}", name, did_you_mean(name, preset_names()),
         fmt::join(preset_names(), ", "));
  }
  apply_toml(config, preset->toml, fmt::format("preset {}", name));
  config.preset = name;
}

constexpr std::string_view kModelKey = "model=";
constexpr std::string_view kNoPreset = "none";

// Whether one of the settings belongs to a model other than this.
bool sets_another_model(const Settings& s, const std::string& model) {
  return std::ranges::any_of(s.assignments, [&](const std::string& assignment) {
    std::string section = assignment.substr(0, assignment.find('.'));
    return section != model && std::ranges::any_of(models(), [&](const ModelInfo& info) {
             return info.name == section;
           });
  });
}

// The model comes first: it decides which settings there are. In order of strength: --model, --set,
// the file; where nothing says, the data, unless there is a preset or another model's setting.
std::string wanted_model(const Settings& s, const Dataset& data, bool preset) {
  if (s.model) return *s.model;
  for (auto each = s.assignments.rbegin(); each != s.assignments.rend(); ++each)
    if (each->starts_with(kModelKey)) return each->substr(kModelKey.size());
  Config config;
  if (!s.config_file.empty()) apply_toml(config, read_text(s.config_file), s.config_file);
  bool open = s.chooses_model && s.config_file.empty() && !preset;
  std::string chosen = default_model(data);
  return open && !sets_another_model(s, chosen) ? chosen : config.model;
}

// The split that the run will use, which defaults may be judged by.
SplitConfig wanted_split(const Settings& s, const std::string& model) {
  Config config(model);
  if (!s.config_file.empty()) apply_toml(config, read_text(s.config_file), s.config_file);
  for (const std::string& assignment : s.assignments)
    if (assignment.starts_with("split.")) apply_setting(config, assignment);
  if (s.split) config.split.index = *s.split;
  return config.split;
}

}  // namespace

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
                 "Settings of one of the paper's data sets (that of the data's name), or none")
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

// Which model is trained may depend on the data: each setting is tried on the model it is of.
void check_settings(const Settings& s) {
  Config config;
  if (!s.preset.empty() && s.preset != kNoPreset) apply_preset(config, s.preset);
  if (!s.config_file.empty()) apply_toml(config, read_text(s.config_file), s.config_file);
  for (const std::string& assignment : s.assignments) {
    if (assignment.starts_with(kModelKey)) continue;
    std::string section = assignment.substr(0, assignment.find('.'));
    bool of_model =
        std::ranges::any_of(models(), [&](const ModelInfo& info) { return info.name == section; });
    Config tried(of_model ? section : config.model);
    apply_setting(tried, assignment);
  }
}

Config resolve(const Settings& s, const Dataset& data) {
  if (s.split) stored_split(data, *s.split);  // refuses one that is not there
  bool own_preset = s.preset.empty() && s.config_file.empty() && find_preset(data.name);
  bool preset = own_preset || !(s.preset.empty() || s.preset == kNoPreset);
  std::string model = wanted_model(s, data, preset);
  Config config(model);
  if (preset) {
    apply_preset(config, own_preset ? data.name : s.preset);
    log("preset {}", config.preset);
  } else if (s.config_file.empty() || !tries_shapes(model)) {  // a file says what shape it wants
    config = default_config(data, model, wanted_split(s, model), interrupted);
  }
  if (!s.config_file.empty()) apply_toml(config, read_text(s.config_file), s.config_file);
  for (const std::string& assignment : s.assignments)
    if (!assignment.starts_with(kModelKey)) apply_setting(config, assignment);
  // A run can be continued, and predicted with, from any folder.
  config.data = is_generator(s.data) ? s.data : std::filesystem::absolute(s.data).string();
  if (s.seed) config.seed = *s.seed;
  if (s.seeds) config.seeds = *s.seeds;
  if (s.split) config.split.index = *s.split;
  if (s.threads) config.threads = *s.threads;
  return config;
}

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::stringstream stream(list);
  for (std::string word; std::getline(stream, word, ',');)
    if (!word.empty()) words.push_back(word);
  return words;
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
  for (size_t split : splits)
    require(split < data.splits.size(), "there is no split {}: {} stores {}", split, data.name,
            data.splits.size());
  return splits;
}

Config resolve_one(Settings settings, const std::string& model, const std::vector<std::string>& all,
                   const Dataset& data) {
  settings.model = model;
  std::erase_if(settings.assignments, [&](const std::string& assignment) {
    std::string section = assignment.substr(0, assignment.find('.'));
    return section != model && std::find(all.begin(), all.end(), section) != all.end();
  });
  return resolve(settings, data);
}

}  // namespace spex::cli
