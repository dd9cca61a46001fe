// Everything that decides how a run goes. Each value has a key, known to TOML files and to `--set`.
#pragma once

#include <spex/model/network.h>
#include <spex/sample/sampler.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace spex {

enum class Model { spexphormer, exphormer };
enum class Metric { automatic, accuracy, roc_auc, r2 };

// What both phases need to know about optimisation.
struct OptimiserConfig {
  size_t epochs = 100;
  double learning_rate = 0.01;
  size_t warmup = 5;
  double weight_decay = 1e-3;
  double clip = 1.0;
};

struct DataConfig {
  size_t split = 0;    // which of the stored splits
  std::string ratio;   // "50/25/25": a random split instead, by split_seed
  std::string counts;  // "20/500/1000": a random split by class instead, by split_seed
  size_t split_seed = 0;
  Metric metric = Metric::automatic;
};

struct ExpanderConfig {
  size_t degree = 30;
  size_t seed = 0;
  size_t tries = 100;
};

struct EstimatorConfig {
  OptimiserConfig optimiser = {.learning_rate = 0.03};
  size_t layers = 0;  // 0: as many as the final network
  size_t width = 8;
  size_t pre_layers = 1;
  Norm norm = Norm::batch;
  Modulation modulation = Modulation::elementwise;
  bool scale_by_width = true;
  bool normalize_values = true;
  bool temperature = true;  // anneal; otherwise T = 1 throughout
  size_t lambda = 5;
  double gamma = 0.99;
  double tau_min = 0.05;
  size_t tries = 1;  // estimators with different seeds; the one best on validation is kept
};

struct FinalConfig {
  OptimiserConfig optimiser;
  size_t width = 64;
  size_t heads = 2;
  std::vector<size_t> degrees = {10,
                                 10};  // neighbours per layer; their number is the number of layers
  size_t pre_layers = 1;
  size_t post_layers = 0;
  Norm norm = Norm::batch;
  double dropout = 0.2;
  bool recompute = false;  // layers run again in backward: about half the memory, more time
  size_t batch_size = 0;   // 0: the whole graph at once
  Sampling sampling = Sampling::weighted;
  size_t resample_every = 1;  // epochs between new samples
  size_t truncate = 0;        // draw only from so many largest scores of a row; 0: from all
  bool log_scores = false;
  size_t virtual_nodes = 0;  // exphormer only
  size_t evaluate_every = 1;
};

struct Config {
  std::string data;    // the file, folder or generator
  std::string preset;  // the preset it started from, if any
  Model model = Model::spexphormer;
  size_t seed = 0;
  size_t seeds = 1;
  size_t threads = 0;  // 0: all cores
  DataConfig split;
  ExpanderConfig expander;
  EstimatorConfig estimator;
  FinalConfig final;
};

// Merges what a TOML text or one "key=value" says into `config`. An unknown key or a value of the
// wrong kind is an error that names the nearest known key or the values that are possible.
void apply_toml(Config& config, std::string_view text, const std::string& source);
void apply_setting(Config& config, const std::string& assignment);

// Throws if a value can never work, before anything is trained.
void check(const Config& config);

// Whether the final network draws by an estimator's scores, or reads them.
bool needs_scores(const Config& config);

std::string to_toml(const Config& config);  // complete: every value in force

struct ConfigKey {
  std::string key, value, meaning;
};
std::vector<ConfigKey> config_keys(const Config& config);

std::string_view name(Model model);
std::string_view name(Metric metric);

// The known word closest to `word`, or an empty string when none is close.
std::string nearest_word(const std::string& word, const std::vector<std::string>& known);

}  // namespace spex
