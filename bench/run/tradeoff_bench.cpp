// The paper's trade-off between time and memory in the second phase: the batch size varied, all
// else fixed, on a synthetic twin.
#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/text.h>
#include <spex/model/spexphormer.h>

#include <cstdio>

#include "run/twin.h"

namespace spex {
namespace {

constexpr size_t kTimedNodes = 4'000;  // targets of the batches that are timed, and at least two

void tradeoff(const std::string& twin, const std::filesystem::path& folder) {
  Config config = bench::config_of(twin);
  Dataset data = bench::open_twin(twin, folder);
  PlanInput input = plan_input(data, config);  // before the graph is in memory
  Problem problem = make_problem(std::move(data), config);
  bench::estimator_epoch(problem, config, folder);
  auto& options = config.options<SpexphormerOptions>("spexphormer");
  fmt::print("{} (synthetic): {} nodes, {} training nodes, degrees {}, width {}\n", twin,
             problem.data.nodes(), problem.split.train.size(), fmt::join(options.degrees, "/"),
             options.width);
  fmt::print(
      "| batch | s per epoch | counted peak | above the graph | forecast | resident peak |\n"
      "|---|---|---|---|---|---|\n");
  size_t graph = memory_use().current;
  for (size_t batch : {64, 256, 1024, 4096, 16384, 65536, 0}) {
    if (batch >= problem.split.train.size()) continue;
    config.final().recipe.batch_size = batch;
    Plan plan = make_plan(input, config);
    bench::MemoryPeak memory;
    size_t batches = batch ? std::max<size_t>(2, kTimedNodes / batch) : 1;
    bench::FinalTimes times = bench::final_epoch(problem, config, batches);
    fmt::print("| {} | {:.2f} | {} | {} | {} | {} |\n", batch ? fmt::to_string(batch) : "all nodes",
               times.epoch, format_size(memory.counted()), format_size(memory.counted() - graph),
               format_size(plan.phases[1].bytes), format_size(memory.resident().peak));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace spex

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "tradeoff_bench TWIN FOLDER\n");
    return 2;
  }
  try {
    spex::tradeoff(argv[1], argv[2]);
  } catch (const spex::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
