#include "study/training.h"

#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/memory.h>
#include <spex/core/stopwatch.h>

#include <algorithm>
#include <vector>

namespace spex {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStopped =
    "stopped; the networks that are trained are kept, and the same command goes on";

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// What a phase is trained with, all of it alive at once.
struct Attempt {
  Attempt(const Phase& phase, const Problem& problem, const Config& config,
          std::span<const NodeId> train)
      : objective(problem.data.labels, config.split.metric),
        model(phase.model->make(shape_of(problem, config), config.seed)),
        optimiser(model->parameters()),
        batches(make_batches(problem, train, phase.model->needs(),
                             {phase.recipe.batch_size, config.seed})),
        runner({*model, objective, optimiser, *batches, problem.data.nodes(), phase.recipe.clip,
                config.seed}) {}

  Objective objective;
  std::unique_ptr<Model> model;
  Adam optimiser;
  std::unique_ptr<Batches> batches;
  Runner runner;
};

}  // namespace

TrainedNetwork train_network(const Phase& phase, const Problem& problem, const Config& config,
                             size_t seed, const RunHooks& hooks) {
  TrainedNetwork network;
  network.model = phase.model->make(shape_of(problem, config), seed);
  TrainState state;
  TrainerHooks trainer;
  trainer.on_epoch = [&](const EpochRecord& record) {
    if (hooks.on_epoch) hooks.on_epoch(record, phase.recipe.epochs);
  };
  trainer.stop = hooks.stop;
  require(train_phase(phase, *network.model, problem, config, seed, state, trainer), "{}",
          kStopped);
  network.temperature = state.best_temperature;
  network.validation = state.best_validation;
  network.test = state.best_test;
  return network;
}

void claim_folder(const fs::path& folder, Config config) {
  config.threads = 0;
  config.seeds = 1;
  std::string text;  // without the comments of to_toml, which say how and may change
  for (const ConfigKey& key : config_keys(config)) text += key.key + " = " + key.value + "\n";
  fs::path file = folder / "settings.txt";
  fs::create_directories(folder);
  if (!fs::exists(file)) write_text(file, text);
  require(read_text(file) == text,
          "{} has networks that were trained with other settings; choose another --out, or remove "
          "it",
          folder.string());
}

Problem problem_with_scores(const Dataset& data, const Config& config, const fs::path& folder,
                            const RunHooks& hooks) {
  claim_folder(folder, config);
  Problem problem = make_problem(data, config);
  fs::path file = folder / "scores.safetensors";
  if (!fs::exists(file)) run_estimate(problem, config, file, hooks);
  problem.scores = load_scores(file, problem.attention, problem.fingerprint);
  return problem;
}

RunRecord run_in(const fs::path& folder, const Dataset& data, const Config& config,
                 const fs::path& scores, const RunHooks& hooks) {
  RunOptions options;
  options.out = folder;
  options.resume = fs::exists(RunFiles{folder}.config());
  options.scores = scores;
  RunResult result = run_training(make_problem(data, config), config, options, hooks);
  require(result.finished, "{}", kStopped);
  return std::move(result.record);
}

EpochCost measure_phase(const Phase& phase, const Problem& problem, const Config& config,
                        size_t epochs, size_t batches) {
  std::span<const NodeId> train = problem.split.train.span();
  size_t batch = phase.recipe.batch_size;
  size_t used = batch == 0 || batch >= problem.data.nodes()
                    ? train.size()
                    : std::min(train.size(), batch * batches);
  trim_memory();
  reset_memory_peaks();
  std::vector<double> seconds, sampling;
  {
    Attempt attempt(phase, problem, config, train.first(used));
    for (size_t epoch = 0; epoch <= epochs; ++epoch) {
      Stopwatch watch;
      TrainedEpoch trained = attempt.runner.train({epoch, 0.001, 1.0F});
      if (epoch == 0) continue;
      seconds.push_back(watch.seconds());
      sampling.push_back(trained.sample_seconds);
    }
  }
  double factor = static_cast<double>(train.size()) / static_cast<double>(used);
  return {factor * median(seconds), factor * median(sampling), memory_use().peak};
}

}  // namespace spex
