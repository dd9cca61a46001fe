// Blocks of rows are filled independently: each walks the whole list for its own edges, in order,
// so that sums do not depend on the number of threads.

#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/graph/edge_values.h>

#include <algorithm>
#include <vector>

namespace spex {
namespace {

struct Values {
  const CsrGraph& graph;
  std::span<const float> listed;
  size_t width;
  EdgeCombine combine;
  bool apart;  // parallel edges are kept
};

// Where edge (from, to) stands; of parallel ones that are kept apart the first without values.
size_t slot_of(const Values& in, NodeId from, NodeId to, const uint32_t* counts, size_t base) {
  auto row = in.graph.row(from);
  auto found = std::lower_bound(row.begin(), row.end(), to);
  size_t slot = in.graph.offsets[from] + static_cast<size_t>(found - row.begin());
  while (in.apart && counts[slot - base] > 0) ++slot;
  return slot;
}

void add(float* into, const float* values, size_t width, EdgeCombine combine, bool first) {
  for (size_t c = 0; c < width; ++c)
    into[c] = first                         ? values[c]
              : combine == EdgeCombine::max ? std::max(into[c], values[c])
                                            : into[c] + values[c];
}

void divide(float* values, std::span<const uint32_t> counts, size_t width) {
  for (size_t e = 0; e < counts.size(); ++e)
    for (size_t c = 0; c < width && counts[e] > 1; ++c)
      values[e * width + c] /= static_cast<float>(counts[e]);
}

}  // namespace

Buffer<float> place_edge_values(const CsrGraph& graph, std::span<const NodeId> sources,
                                std::span<const NodeId> targets, std::span<const float> values,
                                size_t width, EdgeCombine combine, const BuildOptions& options) {
  require(values.size() == sources.size() * width, "{} edge values for {} edges of {}",
          values.size(), sources.size(), width);
  Values in{graph, values, width, combine, !options.drop_duplicates};
  Buffer<float> placed(graph.edges() * width, MemoryTag::graph);
  // Few blocks: each of them reads the whole list.
  size_t block = std::max<size_t>(4096, graph.nodes() / 16 + 1);
  parallel_for(graph.nodes(), block, [&](size_t begin, size_t end) {
    size_t base = graph.offsets[begin];
    std::vector<uint32_t> counts(graph.offsets[end] - base);
    auto take = [&](NodeId from, NodeId to, size_t e) {
      size_t slot = slot_of(in, from, to, counts.data(), base);
      add(&placed[slot * width], &values[e * width], width, combine, counts[slot - base]++ == 0);
    };
    for (size_t e = 0; e < sources.size(); ++e) {
      NodeId from = sources[e], to = targets[e];
      if (from == to && options.drop_self_loops) continue;
      if (from >= begin && from < end) take(from, to, e);
      if (options.undirected && from != to && to >= begin && to < end) take(to, from, e);
    }
    if (combine == EdgeCombine::mean) divide(placed.data() + base * width, counts, width);
  });
  return placed;
}

}  // namespace spex
