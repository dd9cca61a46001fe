// Everything that decides how a run goes. Each value has a key, known to TOML files and to `--set`.
#pragma once

#include <spex/core/cloned.h>
#include <spex/model/registry.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spex {

// The larger, the better, mean absolute error excepted: it is judged by its negative.
enum class Metric { automatic, accuracy, macro_f1, roc_auc, average_precision, r2, mae };
std::string_view name(Metric metric);

struct SplitConfig {
  size_t index = 0;    // which of the stored splits
  std::string ratio;   // "50/25/25": a random split instead, by seed
  std::string counts;  // "20/500/1000": a random split by class instead, by seed
  size_t seed = 0;
  Metric metric = Metric::automatic;
  void list(SettingList& s);
};

struct ExpanderConfig {
  size_t degree = 30;
  size_t seed = 0;
  size_t tries = 100;
  void list(SettingList& s);
};

// Columns that the graph's structure gives.
enum class Structure { degree, walk, laplacian, embedding };

// What a model is given of a node.
struct FeatureConfig {
  bool standardise = true;         // columns to mean 0 and deviation 1; targets of regression too
  std::string structure = "auto";  // auto, none, or some of degree, walk, laplacian, embedding
  bool automatic() const { return structure == "auto"; }
  std::vector<Structure> parts() const;  // each once; throws, naming the words there are
  void list(SettingList& s);
};

// One training of a method: a model with its settings. Its name is the section of its settings.
struct Phase {
  std::string name;
  Recipe recipe;
  Cloned<ModelOptions> model;
  void list(SettingList& s);
};

struct Config {
  // The method of `model`: its phases, one after the other, with their default settings.
  explicit Config(const std::string& model = "spexphormer");

  std::string data;    // the file, folder or generator
  std::string preset;  // the preset it started from, if any
  std::string model;
  size_t seed = 0;
  size_t seeds = 1;
  size_t members = 1;    // networks per seed, whose predictions are averaged
  std::string variants;  // of the model's settings, for networks to take in turn
  size_t threads = 0;    // 0: all cores
  SplitConfig split;
  FeatureConfig features;
  ExpanderConfig expander;
  std::vector<Phase> phases;  // the last one is the model itself; those before give it scores

  Phase& final() { return phases.back(); }
  const Phase& final() const { return phases.back(); }
  Phase& phase(std::string_view name);
  template <class ModelSettings>
  ModelSettings& options(std::string_view name) {
    return dynamic_cast<ModelSettings&>(*phase(name).model);
  }

  void list(SettingList& s);
};

// Merges what a TOML text or one "key=value" says into `config`. An unknown key or a value of the
// wrong kind is an error that names the nearest known key or the values that are possible. A text
// may have sections of models other than the one it is for; those are checked and left alone. One
// "key=value" is for all networks: no variant has another value of that key afterwards.
void apply_toml(Config& config, std::string_view text, const std::string& source);
void apply_setting(Config& config, const std::string& assignment);

// What the networks of a training are, in turn: the last phase as its settings stand, and as each of
// `variants` ("layers=4 width=64 | norm=batch") changes it; no more than there are members.
std::vector<Phase> network_phases(const Config& config);
// Which of those the network with this number is.
size_t turn_of(size_t network, const Config& config, std::span<const Phase> networks);

// Makes the networks of a training, one per member, what these are.
void take_in_turn(Config& config, std::span<const Phase> networks);

// Leaves out variants that cannot stand beside the settings; true if there were such.
bool drop_impossible_variants(Config& config);

// Whether a network that needs this finds features and scores where those of the first one are; graphs
// are made for all.
bool can_join(const Needs& one, const Needs& first);

// Another model: its phases start from their defaults.
void set_model(Config& config, const std::string& model);

// Throws if a value can never work, before anything is read or trained.
void check(const Config& config);

// The phases that are trained: those before the last one only where it needs their scores.
std::vector<const Phase*> phases_to_train(const Config& config, bool scores_given);

// Lets the phases before the last one fit themselves to the model that uses their scores. Done when
// all settings are known.
void tell_scorers(Config& config);

// What all phases and networks need of a data set.
Needs needs_of(const Config& config);

std::string to_toml(const Config& config);  // complete: every value in force

// One phase alone, as the section of its model: what a model's file holds.
std::string to_toml(const Phase& phase);
Phase parse_phase(const std::string& model, std::string_view text, const std::string& source);

struct ConfigKey {
  std::string key, value, meaning;
};
std::vector<ConfigKey> config_keys(const Config& config);

}  // namespace spex
