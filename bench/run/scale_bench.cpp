// Both phases on a synthetic twin of a large data set: seconds per epoch, share of the random-row
// limit, memory measured and forecast. `bench/scale` runs it for every twin, each in a process of
// its own.
#include <fmt/core.h>
#include <spex/core/error.h>
#include <spex/core/text.h>
#include <spex/model/spexphormer.h>

#include <cstdio>

#include "machine.h"
#include "run/twin.h"

namespace spex {
namespace {

constexpr size_t kBatches = 16;

double row_limit(const AttentionGraph& graph) {
  size_t count = std::min<size_t>(graph.edges(), 50'000'000);
  Buffer<uint32_t> ids(count, MemoryTag::other);
  std::copy_n(graph.neighbours.begin(), count, ids.begin());
  return bench::random_rows_per_second(graph.nodes(), 16, ids);
}

struct PhaseResult {
  double seconds = 0;
  size_t counted = 0, forecast = 0;
  ResidentMemory resident;
};

struct Result {
  size_t nodes = 0, edges = 0;
  double limit = 0;  // random rows per second
  double edge_rate = 0, sampling = 0;
  PhaseResult estimator, final;
};

PhaseResult finish(double seconds, const bench::MemoryPeak& memory, const PhasePlan& plan) {
  return {seconds, memory.counted(), plan.bytes, memory.resident()};
}

Result measure(const std::string& twin, const std::filesystem::path& folder, bool recompute) {
  Config config = bench::config_of(twin);
  config.options<SpexphormerOptions>("spexphormer").recompute = recompute;
  Dataset data = bench::open_twin(twin, folder);
  Plan plan = make_plan(plan_input(data, config), config);
  Problem problem = make_problem(std::move(data), config);
  Result result;
  result.nodes = problem.data.nodes();
  result.edges = problem.attention.edges();
  result.limit = row_limit(problem.attention);
  bench::MemoryPeak first;
  double seconds = bench::estimator_epoch(problem, config, folder);
  result.estimator = finish(seconds, first, plan.phases[0]);
  result.edge_rate = bench::edges_visited(problem, config) / seconds;
  bench::MemoryPeak second;
  bench::FinalTimes times = bench::final_epoch(problem, config, kBatches);
  result.final = finish(times.epoch, second, plan.phases[1]);
  result.sampling = times.sampling;
  return result;
}

double gigabytes(size_t bytes) {
  return 1e-9 * static_cast<double>(bytes);
}

void print_phase(const char* name, const PhaseResult& r, const std::string& speed) {
  fmt::print("  {}: {:.2f} s per training epoch ({})\n", name, r.seconds, speed);
  fmt::print(
      "    resident {:.2f} GB at most; at the end {:.2f} anonymous, {:.2f} file-backed; counted "
      "{}, forecast {} ({:+.0f}%)\n",
      gigabytes(r.resident.peak), gigabytes(r.resident.anonymous),
      gigabytes(r.resident.file_backed), format_size(r.counted), format_size(r.forecast),
      100.0 * (static_cast<double>(r.forecast) / static_cast<double>(r.counted) - 1.0));
}

void print(const std::string& twin, const Result& r) {
  fmt::print("{} (synthetic): {} nodes, {} attention edges\n", twin, r.nodes, r.edges);
  print_phase("phase 1", r.estimator,
              fmt::format("{:.0f} M edges/s, {:.0f}% of the random-row limit of {:.0f} M rows/s at "
                          "three rows an edge",
                          1e-6 * r.edge_rate, 300.0 * r.edge_rate / r.limit, 1e-6 * r.limit));
  print_phase("phase 2", r.final, fmt::format("sampling and batches {:.2f} s", r.sampling));
  std::fflush(stdout);
}

}  // namespace
}  // namespace spex

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "scale_bench TWIN FOLDER [recompute]\n");
    return 2;
  }
  try {
    std::string mode = argc > 3 ? argv[3] : "";
    spex::print(argv[1], spex::measure(argv[1], argv[2], mode == "recompute"));
  } catch (const spex::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
