// Seconds to join 124 M graph edges with an expander of degree 30, to transpose and to hash the
// result: attention_graph_bench [nodes] [undirected edges].
#include <fmt/core.h>
#include <spex/core/memory.h>
#include <spex/core/random.h>
#include <spex/core/threads.h>
#include <spex/graph/attention_graph.h>
#include <spex/graph/builder.h>
#include <spex/graph/expander.h>

#include <chrono>
#include <cstdlib>

namespace {

using namespace spex;

template <class Work>
auto timed(const char* what, Work work) {
  reset_memory_peaks();
  size_t before = memory_use().current;
  auto begin = std::chrono::steady_clock::now();
  auto result = work();
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  fmt::print("{}: {:.2f} s, peak {:.0f} MB, kept {:.0f} MB\n", what, seconds.count(),
             static_cast<double>(memory_use().peak - before) * 1e-6,
             static_cast<double>(memory_use().current - before) * 1e-6);
  return result;
}

CsrGraph random_graph(size_t nodes, size_t edges) {
  Random random(1, Purpose::test);
  Buffer<NodeId> sources(edges, MemoryTag::other), targets(edges, MemoryTag::other);
  parallel_for(edges, 1 << 16, [&](size_t begin, size_t end) {
    for (size_t e = begin; e < end; ++e) {
      auto word = random.bits(e);
      sources[e] = static_cast<NodeId>(word[0] % nodes);
      targets[e] = static_cast<NodeId>(word[1] % nodes);
    }
  });
  return build_csr(nodes, sources.span(), targets.span()).graph;
}

}  // namespace

int main(int argc, char** argv) {
  size_t nodes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2'449'029;
  size_t edges = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 61'859'140;
  CsrGraph graph = random_graph(nodes, edges);
  CsrGraph expander = make_expander(nodes, {.degree = 30}).graph;
  AttentionGraph joined = timed("augment", [&] { return augment(graph, expander); });
  fmt::print("{} nodes, {} attention edges, {} threads\n", nodes, joined.edges(), threads());
  uint64_t hash = timed("fingerprint", [&] { return fingerprint(joined); });
  joined.symmetric = false;
  AttentionGraph transposed = timed("transpose", [&] { return transpose(joined); });
  fmt::print("transpose of a symmetric graph {} it\n",
             fingerprint(transposed) == hash ? "equals" : "DIFFERS FROM");
}
