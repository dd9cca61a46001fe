#include <spex/config/config.h>
#include <spex/core/error.h>
#include <spex/core/text.h>

#include <algorithm>
#include <limits>
#include <map>

namespace spex {
namespace {

const Words<Metric>& metric_words() {
  static const Words<Metric> words = {{"auto", Metric::automatic},
                                      {"accuracy", Metric::accuracy},
                                      {"macro_f1", Metric::macro_f1},
                                      {"roc_auc", Metric::roc_auc},
                                      {"average_precision", Metric::average_precision},
                                      {"r2", Metric::r2},
                                      {"mae", Metric::mae}};
  return words;
}

const Words<Structure>& structure_words() {
  static const Words<Structure> words = {{"degree", Structure::degree},
                                         {"walk", Structure::walk},
                                         {"laplacian", Structure::laplacian},
                                         {"embedding", Structure::embedding}};
  return words;
}

Structure structure_of(const std::string& word) {
  for (const auto& [known, value] : structure_words())
    if (known == word) return value;
  fail(
      "features.structure: there is no {}; it is auto, none, or some of degree, walk, laplacian "
      "and embedding, as \"degree,walk\"",
      word.empty() ? "empty word" : word);
}

void check(const Phase& phase) {
  phase.model->check();
  bool batches = phase.model->needs().batching != Batching::none;
  require(batches || phase.recipe.batch_size == 0,
          "{0} needs the whole graph in every step; leave {0}.batch_size at 0", phase.name);
}

void check_variants(const Config& config) {
  Config all = config;
  all.members = std::numeric_limits<size_t>::max();  // those that no network takes, too
  Needs needs = config.final().model->needs();
  for (const Phase& phase : network_phases(all)) {
    check(phase);
    require(can_join(phase.model->needs(), needs),
            "networks of a training share hops, eigenvectors and the scores they draw by; variants "
            "cannot change those: \"{}\"",
            config.variants);
  }
}

Phase default_phase(const std::string& name) {
  const ModelInfo& info = find_model(name);
  return {name, info.recipe, info.options()};
}

std::vector<ConfigKey> keys_of(const SettingList& settings) {
  std::vector<ConfigKey> keys;
  for (const Setting& each : settings.settings())
    keys.push_back({each.name, each.text(), each.meaning});
  return keys;
}

std::string toml_of(const std::vector<ConfigKey>& keys) {
  std::map<std::string, std::string> sections;
  std::vector<std::string> order;
  for (const ConfigKey& each : keys) {
    size_t dot = each.key.rfind('.');
    std::string section = dot == std::string::npos ? "" : each.key.substr(0, dot);
    if (!sections.contains(section)) order.push_back(section);
    std::string key = dot == std::string::npos ? each.key : each.key.substr(dot + 1);
    sections[section] +=
        fmt::format("{:<36} # {}\n", fmt::format("{} = {}", key, each.value), each.meaning);
  }
  std::string text;
  for (const std::string& section : order)
    text +=
        section.empty() ? sections[section] : fmt::format("\n[{}]\n{}", section, sections[section]);
  return text;
}

// An embedding has a column per node, and hops make all columns dense.
void check_structure(const Config& config) {
  std::vector<Structure> parts = config.features.parts();
  bool embedding = std::find(parts.begin(), parts.end(), Structure::embedding) != parts.end();
  for (const Phase& phase : config.phases)
    require(!embedding || phase.model->needs().hops == 0,
            "{} averages features over hops, which an embedding per node is too wide for; take "
            "features.structure=degree,walk",
            phase.name);
}

}  // namespace

std::string_view name(Metric metric) {
  for (const auto& [word, value] : metric_words())
    if (value == metric) return word;
  return "";
}

void SplitConfig::list(SettingList& s) {
  s.add("index", index, {0, 1e6}, "which of the stored splits");
  s.add("ratio", ratio, "random split instead, such as 50/25/25");
  s.add("counts", counts,
        "random split instead: training nodes of each class, validation, test; 20/500/1000");
  s.add("seed", seed, {0, 1e18}, "seed of the random split");
  s.add("metric", metric, metric_words(),
        "auto, accuracy, macro_f1, roc_auc, average_precision, r2 or mae (its negative)");
}

std::vector<Structure> FeatureConfig::parts() const {
  std::vector<Structure> parts;
  if (automatic() || structure == "none") return parts;
  for (size_t begin = 0, end = 0; end < structure.size(); begin = end + 1) {
    end = std::min(structure.find(',', begin), structure.size());
    Structure part = structure_of(structure.substr(begin, end - begin));
    if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(part);
  }
  require(!parts.empty(), "features.structure is empty; none leaves the features as they are");
  return parts;
}

void FeatureConfig::list(SettingList& s) {
  s.add("standardise", standardise, "bring features, and targets of regression, to one scale");
  s.add("structure", structure,
        "columns made of the graph: auto, none, or some of degree, walk, laplacian, embedding");
}

void ExpanderConfig::list(SettingList& s) {
  s.add("degree", degree, {0, 10000}, "even; 0: none");
  s.add("seed", seed, {0, 1e18}, "seed of the expander");
  s.add("tries", tries, {1, 10000}, "expanders to try for a large spectral gap");
}

void Phase::list(SettingList& s) {
  recipe.list(s);
  model->list(s);
}

Config::Config(const std::string& model_name) {
  set_model(*this, model_name);
}

void set_model(Config& config, const std::string& model) {
  const ModelInfo& info = find_model(model);
  config.model = model;
  config.phases.clear();
  config.variants.clear();
  if (!info.scored_by.empty()) config.phases.push_back(default_phase(info.scored_by));
  config.phases.push_back(default_phase(model));
}

Phase& Config::phase(std::string_view name) {
  auto found = std::find_if(phases.begin(), phases.end(),
                            [&](const Phase& phase) { return phase.name == name; });
  require(found != phases.end(), "{} has no phase called {}", model, name);
  return *found;
}

void Config::list(SettingList& s) {
  s.add("data", data, "file, folder or generator");
  s.add("preset", preset, "the preset the run started from");
  s.add("model", model, "what is trained; spex models lists them");
  s.add("seed", seed, {0, 1e18}, "first seed");
  s.add("seeds", seeds, {1, 1e6}, "trainings, with consecutive seeds");
  s.add("members", members, {1, 1000}, "networks per training, whose predictions are averaged");
  s.add("variants", variants,
        "what networks have other than the model's settings, in turn, divided by bars");
  s.add("threads", threads, {0, 1e6}, "0: all cores");
  s.add_part("split", split);
  s.add_part("features", features);
  s.add_part("expander", expander);
  for (Phase& phase : phases) s.add_part(phase.name, phase);
}

void check(const Config& config) {
  check_structure(config);
  constexpr size_t kLargestSeed = 1'000'000'000'000'000'000;
  require(config.seed <= kLargestSeed / config.members,
          "seed {} is too large for {} members: their networks are numbered on from {} times it",
          config.seed, config.members, config.members);
  for (const Phase& phase : config.phases) check(phase);
  check_variants(config);
}

std::vector<const Phase*> phases_to_train(const Config& config, bool scores_given) {
  bool scored = config.final().model->needs().scores && !scores_given;
  std::vector<const Phase*> phases;
  for (const Phase& phase : config.phases)
    if (scored || &phase == &config.final()) phases.push_back(&phase);
  return phases;
}

Needs needs_of(const Config& config) {
  Needs all = config.final().model->needs();
  auto add = [&](const Needs& needs) {
    all.attention |= needs.attention;
    all.local |= needs.local;
    all.edge_features |= needs.edge_features;
  };
  for (const Phase* phase : phases_to_train(config, false)) add(phase->model->needs());
  for (const Phase& phase : network_phases(config)) {
    Needs needs = phase.model->needs();
    add(needs);
    all.own_nodes |= needs.own_nodes;
    if (needs.batching == Batching::none) all.batching = Batching::none;
  }
  return all;
}

void tell_scorers(Config& config) {
  Needs needs = config.final().model->needs();
  for (Phase& phase : config.phases)
    if (&phase != &config.final()) phase.model->serve(needs);
}

std::vector<ConfigKey> config_keys(const Config& config) {
  Config copy = config;  // listing hands out places to write to
  SettingList settings;
  copy.list(settings);
  return keys_of(settings);
}

std::string to_toml(const Config& config) {
  return toml_of(config_keys(config));
}

std::string to_toml(const Phase& phase) {
  Phase copy = phase;
  SettingList settings;
  settings.add_part(phase.name, copy);
  return toml_of(keys_of(settings));
}

}  // namespace spex
