// Both phases on a synthetic twin of a large data set, a few epochs or batches of each.
#pragma once

#include <spex/config/presets.h>
#include <spex/core/memory.h>
#include <spex/core/stopwatch.h>
#include <spex/data/generators.h>
#include <spex/data/native.h>
#include <spex/plan/planner.h>
#include <spex/run/phases.h>
#include <spex/train/runner.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "machine.h"

namespace spex::bench {

// The preset of the twin's data set.
inline Config config_of(const std::string& twin) {
  Config config;
  for (const Preset& preset : presets())
    if (preset.name == twin) apply_toml(config, preset.toml, twin);
  if (twin == "pokec")
    config.expander.degree = 30;  // the paper's table; the authors' program has 10
  tell_scorers(config);
  return config;
}

// The twin's native file, mapped; made first if it is not there.
inline Dataset open_twin(const std::string& twin, const std::filesystem::path& folder) {
  std::filesystem::path file = folder / (twin + ".safetensors");
  if (!std::filesystem::exists(file)) {
    std::filesystem::create_directories(folder);
    TwinOptions options;
    options.name = twin;
    save_native(generate_twin(options), file);
  }
  trim_memory();
  return load_native(file);
}

// What a stretch of work needed: counted buffers, and the process's resident memory.
class MemoryPeak {
 public:
  MemoryPeak() {
    trim_memory();
    reset_memory_peaks();
    std::ofstream("/proc/self/clear_refs") << 5;  // the peak of resident memory begins anew
  }
  size_t counted() const { return memory_use().peak; }
  ResidentMemory resident() const { return resident_memory(); }
};

// What a phase is trained with, all of it alive at once.
struct PhaseTraining {
  PhaseTraining(const Phase& phase, const Problem& problem, const Config& config,
                std::span<const NodeId> train)
      : objective(problem.data.labels, config.split.metric),
        model(phase.model->make(shape_of(problem, config), 0)),
        optimiser(model->parameters()),
        batches(make_batches(problem, train, phase.model->needs(), {phase.recipe.batch_size, 0})),
        runner({*model, objective, optimiser, *batches, problem.data.nodes(), 1.0, 0}) {}

  Objective objective;
  std::unique_ptr<Model> model;
  Adam optimiser;
  std::unique_ptr<Batches> batches;
  Runner runner;
};

// The median training epoch of the estimator, the first one not counted; then its scores, written
// to a file and mapped, as a run has them.
inline double estimator_epoch(Problem& problem, const Config& config,
                              const std::filesystem::path& folder) {
  constexpr size_t kEpochs = 4;
  const Phase& phase = config.phases.front();
  std::vector<double> seconds;
  std::unique_ptr<Model> model;
  {
    PhaseTraining training(phase, problem, config, problem.split.train.span());
    for (size_t epoch = 0; epoch < kEpochs; ++epoch) {
      Stopwatch watch;
      training.runner.train({epoch, 0.01, 1.0F});
      if (epoch > 0) seconds.push_back(watch.seconds());
    }
    model = std::move(training.model);
  }  // as a run does: the scores take the place of what training needed
  trim_memory();
  save_scores(folder / "scores.safetensors", attention_scores(*model, phase, problem, 1.0F),
              problem.fingerprint);
  problem.scores =
      load_scores(folder / "scores.safetensors", problem.attention, problem.fingerprint);
  return median(seconds);
}

// By all layers in a training epoch of the estimator, the last of which may compute some nodes
// only.
inline double edges_visited(const Problem& problem, const Config& config) {
  const AttentionGraph& graph = problem.attention;
  Needs needs = config.phases.front().model->needs();
  size_t last = graph.edges();
  std::span<const NodeId> train = problem.split.train.span();
  if (nodes_computed_last(needs, train.size(), graph.nodes()) < graph.nodes()) {
    last = 0;
    for (NodeId node : train) last += graph.offsets[node + 1] - graph.offsets[node];
  }
  return static_cast<double>(graph.edges() * (needs.layers - 1) + last);
}

struct FinalTimes {
  double epoch, sampling;  // seconds; sampling in batches is overlapped with computing
};

// A training epoch of the final network: whole where the graph is trained at once, else scaled up
// from `batches`. The first pass warms up.
inline FinalTimes final_epoch(const Problem& problem, const Config& config, size_t batches) {
  size_t batch = config.final().recipe.batch_size;
  bool whole = batch == 0 || batch >= problem.data.nodes();
  std::span<const NodeId> train = problem.split.train.span();
  if (!whole) train = train.first(std::min(train.size(), batches * batch));
  PhaseTraining training(config.final(), problem, config, train);
  std::vector<double> seconds, sampling;
  for (size_t epoch = 0; epoch < 4; ++epoch) {
    Stopwatch watch;
    TrainedEpoch trained = training.runner.train({epoch, 0.001, 1.0F});
    if (epoch == 0) continue;
    seconds.push_back(watch.seconds());
    sampling.push_back(trained.sample_seconds);
  }
  double factor =
      static_cast<double>(problem.split.train.size()) / static_cast<double>(train.size());
  return {factor * median(seconds), factor * median(sampling)};
}

}  // namespace spex::bench
