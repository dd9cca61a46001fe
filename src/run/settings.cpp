#include <fmt/format.h>
#include <spex/config/presets.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/log.h>
#include <spex/core/text.h>
#include <spex/core/threads.h>
#include <spex/data/generators.h>
#include <spex/data/splits.h>
#include <spex/run/defaults.h>
#include <spex/run/run.h>
#include <spex/run/settings.h>

#include <algorithm>
#include <filesystem>

namespace spex {
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
bool sets_another_model(const RunSettings& s, const std::string& model) {
  return std::ranges::any_of(s.assignments, [&](const std::string& assignment) {
    std::string section = assignment.substr(0, assignment.find('.'));
    return section != model && std::ranges::any_of(models(), [&](const ModelInfo& info) {
             return info.name == section;
           });
  });
}

// The model comes first: it decides which settings there are. In order of strength: --model, --set,
// the file; where nothing says, the data, unless there is a preset or another model's setting.
std::string wanted_model(const RunSettings& s, const Dataset& data, bool preset) {
  if (s.model) return *s.model;
  for (auto each = s.assignments.rbegin(); each != s.assignments.rend(); ++each)
    if (each->starts_with(kModelKey)) return each->substr(kModelKey.size());
  Config config;
  if (!s.config_file.empty()) apply_toml(config, read_text(s.config_file), s.config_file);
  bool open = s.chooses_model && s.config_file.empty() && !preset;
  std::string chosen = default_model(data);
  return open && !sets_another_model(s, chosen) ? chosen : config.model;
}

// Of the ways to split, the last one that is named counts: that of a preset or file gives way.
void assign(const std::string& assignment, Config& config) {
  apply_setting(config, assignment);
  SplitConfig& split = config.split;
  bool stored = assignment.starts_with("split.index=");
  bool ratio = assignment.starts_with("split.ratio=") && !split.ratio.empty();
  bool counts = assignment.starts_with("split.counts=") && !split.counts.empty();
  if (stored || counts) split.ratio.clear();
  if (stored || ratio) split.counts.clear();
}

// --split, after the assignments.
void use_split(const RunSettings& s, Config& config) {
  if (!s.split) return;
  for (const std::string& assignment : s.assignments)
    require(!(assignment.starts_with("split.ratio=") || assignment.starts_with("split.counts=")) ||
                assignment.ends_with('='),
            "{} makes a random split: it and a stored split exclude each other", assignment);
  assign(fmt::format("split.index={}", *s.split), config);
}

// A setting is for all networks. Shapes of the default that cannot have it are left out; variants that
// are named as well have the last word.
void assign_all(const RunSettings& s, Config& config) {
  auto of_variants = [](const std::string& each) { return each.starts_with("variants="); };
  for (const std::string& each : s.assignments)
    if (!each.starts_with(kModelKey) && !of_variants(each)) assign(each, config);
  if (s.config_file.empty() && drop_impossible_variants(config))
    log("shapes that cannot have these settings are left out");
  for (const std::string& each : s.assignments)
    if (of_variants(each)) assign(each, config);
}

// What trials of defaults need to know: the split that the run will use, and its threads.
Config wanted_trials(const RunSettings& s, const std::string& model) {
  Config config(model);
  if (!s.config_file.empty()) apply_toml(config, read_text(s.config_file), s.config_file);
  for (const std::string& assignment : s.assignments)
    if (assignment.starts_with("split.") || assignment.starts_with("threads="))
      assign(assignment, config);
  use_split(s, config);
  if (s.threads) config.threads = *s.threads;
  return config;
}

}  // namespace

// Which model is trained may depend on the data: each setting is tried on the model it is of.
void check_settings(const RunSettings& s) {
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

Config resolve(const RunSettings& s, const Dataset& data, const std::function<bool()>& stop) {
  if (s.split) stored_split(data, *s.split);  // refuses one that is not there
  bool own_preset = s.preset.empty() && s.config_file.empty() && find_preset(data.name);
  bool preset = own_preset || !(s.preset.empty() || s.preset == kNoPreset);
  std::string model = wanted_model(s, data, preset);
  Config config(model);
  if (preset) {
    apply_preset(config, own_preset ? data.name : s.preset);
    log("preset {}", config.preset);
  } else if (s.config_file.empty() || !tries_shapes(model)) {  // a file says what shape it wants
    Config trials = wanted_trials(s, model);
    use_threads(trials.threads);
    config = default_config(data, model, trials.split, stop);
  }
  if (!s.config_file.empty()) apply_toml(config, read_text(s.config_file), s.config_file);
  assign_all(s, config);
  // A run can be continued, and predicted with, from any folder.
  config.data =
      s.data.empty() || is_generator(s.data) ? s.data : std::filesystem::absolute(s.data).string();
  if (config.data.empty()) config.data = kDataInside;
  if (s.seed) config.seed = *s.seed;
  if (s.seeds) config.seeds = *s.seeds;
  if (s.members) config.members = *s.members;
  use_split(s, config);
  if (s.threads) config.threads = *s.threads;
  if (config.members > 1) log("what {} networks predict is averaged", config.members);
  return config;
}

void compare_alike(RunSettings& s) {
  bool said = s.members || !s.config_file.empty() ||
              std::ranges::any_of(s.assignments, [](const std::string& each) {
                return each.starts_with("members=");
              });
  if (!said) s.members = 1;
}

void check_models(const std::vector<std::string>& models) {
  for (const std::string& model : models) {
    find_model(model);
    require(std::ranges::count(models, model) == 1, "the list of models names {} twice", model);
  }
}

std::vector<Config> resolve_each(const RunSettings& settings,
                                 const std::vector<std::string>& models,
                                 const std::vector<size_t>& splits, const Dataset& data,
                                 const std::function<bool()>& stop) {
  check_models(models);
  std::vector<Config> configs;
  for (const std::string& model : models) {
    RunSettings own = settings;
    own.model = model;
    std::erase_if(own.assignments, [&](const std::string& assignment) {
      std::string section = assignment.substr(0, assignment.find('.'));
      return section != model && std::find(models.begin(), models.end(), section) != models.end();
    });
    if (splits.empty()) configs.push_back(resolve(own, data, stop));
    for (size_t split : splits) {
      own.split = split;
      configs.push_back(resolve(own, data, stop));
    }
  }
  return configs;
}

}  // namespace spex
