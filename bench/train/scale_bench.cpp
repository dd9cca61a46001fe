// Both phases on a synthetic twin of a large data set: seconds per epoch, share of the random-row
// limit, peak memory. Arguments: the twin's name, its native file (made if it is not there), and
// the scale (1). `bench/scale` runs it for every twin, each in a process of its own.
#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/data/generators.h>
#include <spex/data/native.h>
#include <spex/train/phases.h>
#include <spex/train/planner.h>
#include <spex/train/presets.h>

#include <cstdio>
#include <filesystem>

#include "machine.h"

namespace spex {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr size_t kEstimatorEpochs = 3;  // the first warms up and is not counted
constexpr size_t kBatches = 24;

Config config_of(const std::string& twin) {
  Config config;
  for (const Preset& preset : presets())
    if (preset.name == twin) apply_toml(config, preset.toml, twin);
  if (twin == "pokec")
    config.expander.degree = 30;  // the paper's table; the authors' program has 10
  return config;
}

double row_limit(const AttentionGraph& graph) {
  size_t count = std::min<size_t>(graph.edges(), 50'000'000);
  Buffer<uint32_t> ids(count, MemoryTag::other);
  std::copy_n(graph.neighbours.begin(), count, ids.begin());
  return bench::random_rows_per_second(graph.nodes(), 16, ids);
}

// A training epoch of the estimator: the best of those after the first.
double estimator_epoch(const Problem& problem, const Config& config, Scores& scores) {
  Objective objective(problem.data.labels, config.split.metric);
  Network network(estimator_options(config, feature_count(problem.data.features),
                                    objective.outputs(), problem.graph),
                  0);
  AdamW optimiser(network.parameters());
  RunnerContext context{problem.data, problem.split, network, objective, optimiser, 1.0, 0};
  auto runner = full_graph_runner(context, problem.graph, problem.transposed);
  double best = 1e30;
  for (size_t epoch = 0; epoch < kEstimatorEpochs; ++epoch) {
    auto start = Clock::now();
    runner->train({epoch, 0.01, 1.0F});
    if (epoch > 0) best = std::min(best, seconds_since(start));
  }
  trim_memory();
  scores = estimate_scores(network, problem.graph, problem.transposed, problem.data.features, 1.0F);
  return best;
}

struct FinalTimes {
  double epoch, sampling;
  bool whole;
};

// Some batches, scaled to a whole epoch; or a whole epoch where the graph is trained at once.
FinalTimes final_epoch(const Problem& problem, const Config& config, const Scores& scores) {
  Objective objective(problem.data.labels, config.split.metric);
  Network network(final_options(config, feature_count(problem.data.features), objective.outputs(),
                                problem.graph),
                  0);
  AdamW optimiser(network.parameters());
  bool whole = config.final.batch_size == 0;
  Split part = problem.split;
  if (!whole) {
    size_t count = std::min(part.train.size(), kBatches * config.final.batch_size);
    part.train = SharedArray<NodeId>(problem.split.train.span().first(count), nullptr);
  }
  RunnerContext context{problem.data, part, network, objective, optimiser, 1.0, 0};
  SampledNeighbourhoods sampled(problem.graph, &scores, config.final, 0);
  auto runner = batch_runner(context, sampled.builder(), config.final.batch_size, 1);
  runner->train({0, 0.001, 1.0F});
  auto start = Clock::now();
  TrainedEpoch trained = runner->train({1, 0.001, 1.0F});
  double factor = whole ? 1.0
                        : static_cast<double>(problem.split.train.size()) /
                              static_cast<double>(part.train.size());
  return {factor * seconds_since(start), factor * trained.sample_seconds, whole};
}

void print_memory(const char* when) {
  ResidentMemory memory = resident_memory();
  fmt::print("  {}: anonymous {:.2f} GB, file-backed {:.2f} GB, peak {:.2f} GB\n", when,
             1e-9 * static_cast<double>(memory.anonymous),
             1e-9 * static_cast<double>(memory.file_backed),
             1e-9 * static_cast<double>(memory.peak));
}

void measure(const std::string& twin, const std::filesystem::path& file, double scale) {
  if (!std::filesystem::exists(file)) {
    TwinOptions options;
    options.name = twin;
    options.scale = scale;
    save_native(generate_twin(options), file);
  }
  Config config = config_of(twin);
  Dataset data = load_native(file);
  Plan plan = make_plan(plan_input(data, config), config);
  Problem problem = make_problem(std::move(data), config);
  double limit = row_limit(problem.graph);
  trim_memory();
  Scores scores;
  reset_memory_peaks();
  double phase1 = estimator_epoch(problem, config, scores);
  size_t peak1 = memory_use().peak;
  auto edges =
      static_cast<double>(problem.graph.edges()) * static_cast<double>(scores.layers.size());
  fmt::print("{} (synthetic): {} nodes, {} attention edges\n", twin, problem.data.nodes(),
             problem.graph.edges());
  fmt::print(
      "  phase 1: {:.2f} s per training epoch, {:.0f} M edges/s, {:.0f}% of the random-row limit "
      "({:.0f} M rows/s, "
      "three rows an edge); counted peak {} (forecast {})\n",
      phase1, 1e-6 * edges / phase1, 300.0 * edges / phase1 / limit, 1e-6 * limit,
      format_size(peak1), format_size(plan.phases[0].bytes));
  print_memory("after phase 1");
  trim_memory();
  reset_memory_peaks();
  FinalTimes phase2 = final_epoch(problem, config, scores);
  fmt::print(
      "  phase 2: {:.2f} s per training epoch{}, sampling {:.2f} s of it{}; counted peak {} "
      "(forecast {})\n",
      phase2.epoch, phase2.whole ? "" : fmt::format(" ({} batches timed)", kBatches),
      phase2.sampling, phase2.whole ? "" : " (on the preparing thread)",
      format_size(memory_use().peak), format_size(plan.phases[1].bytes));
  print_memory("after phase 2");
}

}  // namespace
}  // namespace spex

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "scale_bench TWIN FILE [SCALE]\n");
    return 2;
  }
  try {
    spex::measure(argv[1], argv[2], argc > 3 ? std::stod(argv[3]) : 1.0);
  } catch (const spex::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
