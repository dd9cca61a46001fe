// How fast a CSR graph is built and what it takes: builder_bench [nodes] [undirected edges].
#include <fmt/core.h>
#include <spex/core/memory.h>
#include <spex/core/random.h>
#include <spex/core/threads.h>
#include <spex/graph/builder.h>

#include <chrono>
#include <cstdlib>

int main(int argc, char** argv) {
  using namespace spex;
  size_t nodes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2'449'029;
  size_t edges = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 61'859'140;
  Random random(1, Purpose::test);
  Buffer<NodeId> sources(edges, MemoryTag::other), targets(edges, MemoryTag::other);
  parallel_for(edges, 1 << 16, [&](size_t begin, size_t end) {
    for (size_t e = begin; e < end; ++e) {
      sources[e] = static_cast<NodeId>(random.below(nodes, 2 * e));
      targets[e] = static_cast<NodeId>(random.below(nodes, 2 * e + 1));
    }
  });
  fmt::print("{} nodes, {} undirected edges, {} threads\n", nodes, edges, threads());
  for (int round = 0; round < 3; ++round) {
    reset_memory_peaks();
    auto begin = std::chrono::steady_clock::now();
    BuiltGraph built = build_csr(nodes, sources.span(), targets.span());
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    MemoryUse use = memory_use(MemoryTag::graph);
    fmt::print(
        "{:.2f} s, {:.1f} M directed edges/s, {} edges kept; peak {:.0f} MB, result {:.0f} "
        "MB: {:.2f} times\n",
        seconds.count(), 2e-6 * static_cast<double>(edges) / seconds.count(), built.graph.edges(),
        use.peak * 1e-6, use.current * 1e-6,
        static_cast<double>(use.peak) / static_cast<double>(use.current));
  }
}
