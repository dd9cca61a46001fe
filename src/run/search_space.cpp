#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/random.h>
#include <spex/run/search_space.h>

#include <algorithm>
#include <functional>

namespace spex {
namespace {

constexpr size_t kMostChanges = 3;
constexpr size_t kDraws = 100;  // until one is possible and new

enum class Cost { any, whole_graph };  // the latter: what a batch's size grows with exponentially

// Every setting that is worth searching, of whatever model has one of that name. `patience` and
// `epochs` are not: more is never worse on validation, it only takes longer.
struct Searched {
  const char* name;
  std::vector<std::string> values;
  Cost cost = Cost::any;
};

const std::vector<Searched>& searched() {
  static const std::vector<Searched> all = {
      {"learning_rate", {"0.001", "0.002", "0.005", "0.01", "0.02"}},
      {"weight_decay", {"0.0", "1e-05", "0.0005", "0.005"}},
      {"class_weights", {"none", "balanced", "validation"}},
      {"dropout", {"0.0", "0.2", "0.35", "0.5", "0.65", "0.8"}},
      {"in_dropout", {"0.0", "0.15", "0.3"}},
      {"width", {"32", "64", "128", "256"}},
      {"heads", {"1", "2", "4"}},
      {"norm", {"none", "layer", "batch"}},
      {"residual", {"true", "false"}},
      {"pre_linear", {"true", "false"}},
      {"conv", {"none", "gcn", "sage", "gat"}},
      {"convolution", {"gcn", "sage", "gat"}},
      {"layers", {"1", "2", "3", "4", "6", "8", "10"}, Cost::whole_graph},
      {"attention_layers", {"0", "1", "2"}, Cost::whole_graph},
      {"degree", {"0", "10"}, Cost::whole_graph},
      {"degrees", {"[5, 5]", "[10, 10]", "[10, 5, 5]", "[10, 5, 5, 5]"}, Cost::whole_graph},
      {"local_layers", {"3", "5", "7", "10"}, Cost::whole_graph},
      {"global_layers", {"0", "1", "2"}, Cost::whole_graph},
      {"hops", {"1", "2", "3", "5"}},
      {"graph_weight", {"0.2", "0.5", "0.8"}},
      {"beta", {"0.1", "0.5", "0.9"}},
      {"gamma", {"0.0", "0.3", "0.6", "0.9"}},
      {"delta", {"0.0", "0.5", "0.9", "1.0"}},
  };
  return all;
}

std::string without_quotes(std::string text) {
  std::erase(text, '"');
  return text;
}

// Alone: variants are what the default's networks differ in.
bool possible(Config config) {
  config.variants.clear();
  try {
    check(config);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// What does nothing beside the other values, as the configuration has it.
Assignment without_idle(Assignment values, const SearchSpace& space, const Config& config) {
  Assignment before = values_of(space, config);
  Config drawn = with_values(config, space, values);
  for (const std::string& name : drawn.final().model->idle())
    for (size_t i = 0; i < space.size(); ++i)
      if (space[i].key == fmt::format("{}.{}", config.final().name, name)) values[i] = before[i];
  return values;
}

// The first of many draws that can work and is new; else what the configuration has.
Assignment first_fresh(const Config& config, const SearchSpace& space, const Tried& tried,
                       const std::function<Assignment(size_t first_index)>& draw) {
  size_t per_draw = 2 * space.size() + 2 * kMostChanges + 1;
  for (size_t i = 0; i < kDraws; ++i) {
    Assignment values = without_idle(draw(i * per_draw), space, config);
    if (!tried.contains(values) && possible(with_values(config, space, values))) return values;
  }
  return values_of(space, config);
}

// A configuration that is made up: numbers of a generator, in a layer that no data set uses.
Random random_of(uint64_t seed, size_t trial) {
  constexpr uint32_t kLayer = 0x70e;
  return {seed, Purpose::generator, static_cast<uint32_t>(trial), kLayer};
}

}  // namespace

SearchSpace search_space(const Config& config, bool has_classes) {
  Config copy = config;
  SettingList settings;
  settings.add_part(copy.final().name, copy.final());
  bool batches = config.final().recipe.batch_size > 0;
  SearchSpace space;
  for (const Searched& each : searched()) {
    std::string key = fmt::format("{}.{}", config.final().name, each.name);
    const Setting* setting = settings.find(key);
    if (!setting || (batches && each.cost == Cost::whole_graph)) continue;
    if (!has_classes && each.name == std::string_view("class_weights")) continue;
    Choice choice{key, {without_quotes(setting->text())}};
    for (const std::string& value : each.values) {
      try {
        setting->set(value, key);
      } catch (const Error&) {
        continue;  // another model's setting of the same name has other values
      }
      std::string text = without_quotes(setting->text());
      if (std::find(choice.values.begin(), choice.values.end(), text) == choice.values.end())
        choice.values.push_back(text);
    }
    space.push_back(std::move(choice));
  }
  return space;
}

Assignment values_of(const SearchSpace& space, const Config& config) {
  Config copy = config;
  SettingList settings;
  copy.list(settings);
  Assignment values;
  for (const Choice& choice : space)
    values.push_back(without_quotes(settings.find(choice.key)->text()));
  return values;
}

Config with_values(Config config, const SearchSpace& space, const Assignment& values) {
  Assignment before = values_of(space, config);
  for (size_t i = 0; i < space.size(); ++i)
    if (values.at(i) != before[i])
      apply_setting(config, fmt::format("{}={}", space[i].key, values[i]));
  return config;
}

Assignment draw_values(const Config& config, const SearchSpace& space, const Tried& tried,
                       uint64_t seed, size_t trial) {
  Random random = random_of(seed, trial);
  return first_fresh(config, space, tried, [&](size_t at) {
    Assignment values;
    for (const Choice& choice : space)
      values.push_back(choice.values[random.below(choice.values.size(), at++)]);
    return values;
  });
}

Assignment change_values(const Config& config, const SearchSpace& space, const Assignment& parent,
                         const Tried& tried, uint64_t seed, size_t trial) {
  Random random = random_of(seed, trial);
  return first_fresh(config, space, tried, [&](size_t at) {
    Assignment values = parent;
    size_t changes = 1 + random.below(kMostChanges, at++);
    for (size_t i = 0; i < changes; ++i) {
      size_t key = random.below(space.size(), at++);
      values[key] = space[key].values[random.below(space[key].values.size(), at++)];
    }
    return values;
  });
}

}  // namespace spex
