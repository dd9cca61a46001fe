// The paper's tables on the data sets that are here: accuracy over seeds, share of edges kept, time
// and memory. `bench/reproduce` builds and runs it. Arguments: the folder of the data sets, then
// the names of those to run (all by default), --model NAME (repeated; all by default), --seeds N,
// --out FOLDER for the runs. Killed, the same command goes on where it was.
#include <fmt/core.h>
#include <spex/config/presets.h>
#include <spex/core/error.h>
#include <spex/run/defaults.h>
#include <spex/run/run.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include "run/moments.h"

namespace spex {
namespace {

struct Spread {
  std::vector<double> values;
  std::string percent() const {
    Moments m = moments(values);
    return values.empty() ? "-" : fmt::format("{:.2f} ± {:.2f}", 100 * m.mean, 100 * m.deviation);
  }
  double median() const {
    auto sorted = values;
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? 0.0 : sorted[sorted.size() / 2];
  }
};

// The same numbers of several seeds.
struct Result {
  Spread estimator, final, final_validation;      // at the best validation epoch
  Spread estimator_epoch, final_epoch, sampling;  // seconds
  Spread whole;                                   // seconds of all phases
  size_t estimator_bytes = 0, final_bytes = 0;
  double kept = 100;  // percent of the edges

  void add(const RunSummary& s) {
    if (s.estimator.epochs > 0) estimator.values.push_back(s.estimator_test);
    final.values.push_back(s.seeds.at(0).test);
    final_validation.values.push_back(s.seeds.at(0).validation);
    estimator_epoch.values.push_back(s.estimator.epoch_seconds);
    final_epoch.values.push_back(s.final.epoch_seconds);
    sampling.values.push_back(s.final.sample_seconds);
    whole.values.push_back(s.seconds);
    estimator_bytes = std::max(estimator_bytes, s.estimator.peak_bytes);
    final_bytes = std::max(final_bytes, s.final.peak_bytes);
    kept = s.edges_kept_percent;
  }
};

// Every seed is a run of its own, with its own estimator, in a folder of its own: one that is
// finished is read, one that was killed goes on.
Result run(const std::string& path, Config config, size_t seeds,
           const std::filesystem::path& folder) {
  config.data = path;
  Problem problem = make_problem(open_data(path), config);
  Result result;
  for (size_t seed = 0; seed < seeds; ++seed) {
    config.seed = seed;
    RunOptions options;
    options.out = folder / fmt::format("seed-{}", seed);
    options.resume = std::filesystem::exists(RunFiles{options.out}.config());
    result.add(run_training(problem, config, options, {}).record.summary);
  }
  return result;
}

// What the paper prints, in percent; empty where it has no such row.
std::string printed(const std::string& data, const std::string& model) {
  static const std::map<std::pair<std::string, std::string>, std::string> table = {
      {{"actor", "glognn"}, "36.4 ± 1.6"},
      {{"minesweeper", "glognn"}, "51.08 ± 1.23"},
      {{"tolokers", "glognn"}, "73.39 ± 1.17"},
      {{"actor", "gcn"}, "33.23 ± 1.16"},
      {{"minesweeper", "gcn"}, "89.75 ± 0.52"},
      {{"tolokers", "gcn"}, "83.64 ± 0.67"},
      {{"actor", "gps"}, "37.1 ± 1.5"},
      {{"minesweeper", "gps"}, "90.63 ± 0.67"},
      {{"tolokers", "gps"}, "83.71 ± 0.48"},
      {{"minesweeper", "nagphormer"}, "84.19 ± 0.66"},
      {{"tolokers", "nagphormer"}, "78.32 ± 0.95"},
      {{"actor", "nodeformer"}, "36.9 ± 1.0"},
      {{"minesweeper", "nodeformer"}, "86.71 ± 0.88"},
      {{"tolokers", "nodeformer"}, "78.10 ± 1.03"},
      {{"minesweeper", "goat"}, "81.09 ± 1.02"},
      {{"tolokers", "goat"}, "83.11 ± 1.04"},
      {{"actor", "exphormer-gat"}, "38.68 ± 0.38"},
      {{"minesweeper", "exphormer-gat"}, "90.74 ± 0.53"},
      {{"tolokers", "exphormer-gat"}, "83.77 ± 0.78"},
      {{"actor", "exphormer"}, "39.01 ± 0.69"},
      {{"minesweeper", "exphormer"}, "92.26 ± 0.56"},
      {{"tolokers", "exphormer"}, "83.53 ± 0.28"},
      {{"actor", "spexphormer"}, "38.59 ± 0.81"},
      {{"minesweeper", "spexphormer"}, "90.71 ± 0.17"},
      {{"tolokers", "spexphormer"}, "83.34 ± 0.31"},
      {{"minesweeper", "estimator"}, "85.67"},
      {{"tolokers", "estimator"}, "80.16"},
  };
  auto found = table.find({data, model});
  return found == table.end() ? "-" : found->second;
}

void print(const std::string& name, const std::string& model, const Result& r) {
  fmt::print(
      "| {} | {} | {} | {} | {} | {} | {:.1f}% | {:.1f} | {:.1f} | {:.2f} | {:.1f} | {:.1f} | "
      "{:.1f} |\n",
      name, model, printed(name, model), r.final.percent(), r.final_validation.percent(),
      r.estimator.percent(), r.kept, 1e3 * r.estimator_epoch.median(), 1e3 * r.final_epoch.median(),
      1e3 * r.sampling.median(), r.whole.median(), 1e-6 * static_cast<double>(r.estimator_bytes),
      1e-6 * static_cast<double>(r.final_bytes));
  std::fflush(stdout);
}

Config config_for(const std::string& name, const std::string& model, const Dataset& data) {
  for (const Preset& preset : presets())
    if (preset.name == name) {
      Config config(model);
      apply_toml(config, preset.toml, name);
      return config;
    }
  return default_config(data, model);
}

}  // namespace
}  // namespace spex

int main(int argc, char** argv) {
  using namespace spex;  // NOLINT
  std::filesystem::path folder = argc > 1 ? argv[1] : "../shared/data";
  std::vector<std::string> names, chosen;
  std::filesystem::path out = "build/reproduce";
  size_t seeds = 5;
  for (int i = 2; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--seeds" && i + 1 < argc)
      seeds = std::stoul(argv[++i]);
    else if (word == "--out" && i + 1 < argc)
      out = argv[++i];
    else if (word == "--model" && i + 1 < argc)
      chosen.push_back(argv[++i]);
    else
      names.push_back(word);
  }
  if (names.empty()) names = {"minesweeper", "tolokers", "actor", "cora", "facebook"};
  if (chosen.empty())
    for (const ModelInfo& info : models()) chosen.push_back(info.name);
  fmt::print(
      "| data | model | paper, test % | test % | validation % | estimator, test % | edges kept | "
      "estimator ms/epoch | ms/epoch | of which sampling | run of one seed, s | estimator MB | MB "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  try {
    for (const std::string& name : names)
      for (const std::string& model : chosen) {
        std::filesystem::path path = folder / (name + ".npz");
        if (!std::filesystem::exists(path)) path = folder / name;
        Config config = config_for(name, model, open_data(path.string()));
        print(name, model, run(path.string(), config, seeds, out / name / model));
      }
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  fmt::print("peak resident memory: {:.0f} MB\n",
             1e-6 * static_cast<double>(resident_memory().peak));
}
