// The paper's tables on the data sets that are here: accuracy over seeds, share of edges kept, time
// and memory. `bench/reproduce` builds and runs it. Arguments: the folder of the data sets, then
// the names of those to run (all of them by default), and --seeds N.
#include <fmt/core.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/threads.h>
#include <spex/run/phases.h>
#include <spex/config/presets.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>

namespace spex {
namespace {

using Clock = std::chrono::steady_clock;

struct Spread {
  std::vector<double> values;
  double mean() const {
    double sum = 0;
    for (double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  }
  double deviation() const {
    double sum = 0;
    for (double value : values) sum += std::pow(value - mean(), 2);
    return values.size() > 1 ? std::sqrt(sum / static_cast<double>(values.size() - 1)) : 0.0;
  }
  std::string percent() const {
    return values.empty() ? std::string("-")
                          : fmt::format("{:.2f} ± {:.2f}", 100 * mean(), 100 * deviation());
  }
  double median() const {
    auto sorted = values;
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? 0.0 : sorted[sorted.size() / 2];
  }
};

struct Result {
  Spread estimator, final;  // test metric at the best validation epoch, over seeds
  Spread estimator_validation, final_validation;
  Spread estimator_epoch, final_epoch, sampling;  // seconds
  Spread whole;                                   // seconds of both phases, one seed
  size_t estimator_bytes = 0, final_bytes = 0;
  double kept = 1.0;
};

void train_seed(const Problem& problem, const Config& config, size_t seed, Result& result) {
  auto start = Clock::now();
  Objective objective(problem.data.labels, config.split.metric);
  size_t inputs = feature_count(problem.data.features);
  TrainerHooks hooks;
  hooks.on_epoch = [&](const EpochRecord& r) {
    bool final = r.phase == "final";
    (final ? result.final_epoch : result.estimator_epoch).values.push_back(r.seconds);
    if (final) result.sampling.values.push_back(r.sample_seconds);
    size_t& bytes = final ? result.final_bytes : result.estimator_bytes;
    bytes = std::max(bytes, r.peak_bytes);
  };
  Scores scores;
  if (config.model == Model::spexphormer) {
    Network estimator(estimator_options(config, inputs, objective.outputs(), problem.graph), seed);
    TrainState state;
    train_estimator(estimator, problem, config, seed, state, hooks);
    scores = estimate_scores(estimator, problem.graph, problem.transposed, problem.data.features,
                             state.best_temperature);
    result.estimator.values.push_back(state.best_test);
    result.estimator_validation.values.push_back(state.best_validation);
  }
  Network network(final_options(config, inputs, objective.outputs(), problem.graph), seed);
  TrainState state;
  train_final(network, problem, scores.layers.empty() ? nullptr : &scores, config, seed, state,
              hooks);
  result.final.values.push_back(state.best_test);
  result.final_validation.values.push_back(state.best_validation);
  result.whole.values.push_back(std::chrono::duration<double>(Clock::now() - start).count());
}

Result run(const std::string& path, const Config& config, size_t seeds) {
  Problem problem = make_problem(open_data(path), config);
  Result result;
  if (config.model == Model::spexphormer) {
    auto shares = kept_share(problem.graph, final_options(config).degrees);
    result.kept = 0;
    for (double share : shares) result.kept += share / static_cast<double>(shares.size());
  }
  for (size_t seed = 0; seed < seeds; ++seed) train_seed(problem, config, seed, result);
  return result;
}

void print(const std::string& name, Model model, const Result& r) {
  fmt::print(
      "| {} | {} | {} | {} | {} | {:.1f}% | {:.1f} | {:.1f} | {:.2f} | {:.1f} | {:.1f} | {:.1f} "
      "|\n",
      name, spex::name(model), r.estimator.percent(), r.final.percent(),
      r.final_validation.percent(), 100 * r.kept, 1e3 * r.estimator_epoch.median(),
      1e3 * r.final_epoch.median(), 1e3 * r.sampling.median(), r.whole.median(),
      1e-6 * static_cast<double>(r.estimator_bytes), 1e-6 * static_cast<double>(r.final_bytes));
  std::fflush(stdout);
}

Config config_for(const std::string& name, const Dataset& data) {
  for (const Preset& preset : presets())
    if (preset.name == name) {
      Config config;
      apply_toml(config, preset.toml, name);
      return config;
    }
  return default_config(data);
}

}  // namespace
}  // namespace spex

int main(int argc, char** argv) {
  using namespace spex;  // NOLINT
  std::filesystem::path folder = argc > 1 ? argv[1] : "../shared/data";
  std::vector<std::string> names;
  size_t seeds = 5;
  bool exphormer = true;
  for (int i = 2; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--seeds" && i + 1 < argc)
      seeds = std::stoul(argv[++i]);
    else if (word == "--no-exphormer")
      exphormer = false;
    else
      names.push_back(word);
  }
  if (names.empty()) names = {"minesweeper", "tolokers", "actor", "cora", "facebook"};
  fmt::print(
      "| data | model | estimator, test % | final, test % | final, validation % | edges kept | "
      "estimator ms/epoch | final ms/epoch | of which sampling | run of one seed, s | estimator MB "
      "| "
      "final MB |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  try {
    for (const std::string& name : names) {
      std::filesystem::path path = folder / (name + ".npz");
      if (!std::filesystem::exists(path)) path = folder / name;
      Config config = config_for(name, open_data(path.string()));
      print(name, Model::spexphormer, run(path.string(), config, seeds));
      bool of_the_paper = name != "cora" && name != "facebook";
      if (!of_the_paper || !exphormer) continue;
      config.model = Model::exphormer;
      print(name, Model::exphormer, run(path.string(), config, seeds));
    }
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  fmt::print("peak resident memory: {:.0f} MB\n",
             1e-6 * static_cast<double>(resident_memory().peak));
}
