#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/graph/attention_graph.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace spex {
namespace {

constexpr size_t kRowBlock = 4096;

// What augment joins: n real nodes, then V virtual ones. An empty expander has no rows at all.
struct Parts {
  const CsrGraph& graph;
  const CsrGraph& expander;
  AugmentOptions options;

  size_t real_nodes() const { return graph.nodes(); }
  size_t nodes() const { return real_nodes() + options.virtual_nodes; }
  size_t types() const { return options.virtual_nodes > 0 ? 4 : 3; }
  std::span<const NodeId> expander_row(size_t i) const {
    return expander.nodes() == 0 ? std::span<const NodeId>() : expander.row(i);
  }
  size_t row_size(size_t i) const {
    if (i >= real_nodes()) return real_nodes();
    return graph.degree(i) + expander_row(i).size() + (options.self_loops ? 1 : 0) +
           options.virtual_nodes;
  }
};

void check(const Parts& parts) {
  require(parts.expander.nodes() == 0 || parts.expander.nodes() == parts.real_nodes(),
          "cannot join a graph of {} nodes with an expander of {} nodes", parts.real_nodes(),
          parts.expander.nodes());
  require(parts.nodes() <= std::numeric_limits<NodeId>::max(),
          "{} nodes with {} virtual ones are more than 32-bit ids can tell apart",
          parts.real_nodes(), parts.options.virtual_nodes);
}

Buffer<EdgeOffset> row_offsets(const Parts& parts) {
  Buffer<EdgeOffset> offsets(parts.nodes() + 1, MemoryTag::graph);
  offsets[0] = 0;
  for (size_t i = 0; i < parts.nodes(); ++i) offsets[i + 1] = offsets[i] + parts.row_size(i);
  return offsets;
}

// Writes one row from `begin` on; ends(t) is told where each type ends.
template <class Ends>
void fill_row(NodeId* neighbours, EdgeOffset begin, size_t i, const Parts& parts, Ends ends) {
  bool real = i < parts.real_nodes();
  NodeId* place = neighbours + begin;
  if (real) place = std::ranges::copy(parts.graph.row(i), place).out;
  ends(EdgeType::graph, place - neighbours);
  if (real) place = std::ranges::copy(parts.expander_row(i), place).out;
  ends(EdgeType::expander, place - neighbours);
  if (real && parts.options.self_loops) *place++ = static_cast<NodeId>(i);
  if (parts.types() == 3) return;
  ends(EdgeType::self_loop, place - neighbours);
  size_t first = real ? parts.real_nodes() : 0;
  size_t count = real ? parts.options.virtual_nodes : parts.real_nodes();
  std::iota(place, place + count, static_cast<NodeId>(first));
}

}  // namespace

AttentionGraph augment(const CsrGraph& graph, const CsrGraph& expander,
                       const AugmentOptions& options) {
  Parts parts{graph, expander, options};
  check(parts);
  size_t nodes = parts.nodes();
  Buffer<EdgeOffset> offsets = row_offsets(parts);
  Buffer<NodeId> neighbours(offsets[nodes], MemoryTag::graph);
  Buffer<EdgeOffset> segment_ends((parts.types() - 1) * nodes, MemoryTag::graph);
  parallel_for(nodes, kRowBlock, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      fill_row(neighbours.data(), offsets[i], i, parts, [&](EdgeType type, ptrdiff_t place) {
        segment_ends[static_cast<size_t>(type) * nodes + i] = static_cast<EdgeOffset>(place);
      });
  });
  bool symmetric = graph.symmetric && (expander.edges() == 0 || expander.symmetric);
  return {std::move(offsets), std::move(neighbours), std::move(segment_ends), parts.types(),
          symmetric,          options.virtual_nodes};
}

void add_edge_features(AttentionGraph& graph, const CsrGraph& own, SharedArray<float> values,
                       size_t count) {
  require(graph.nodes() == own.nodes() + graph.virtual_nodes && count > 0 &&
              values.size() == own.edges() * count,
          "{} edge features for a graph of {} edges and {} nodes, and {} nodes to attend",
          values.size(), own.edges(), own.nodes(), graph.nodes());
  for (size_t i = 0; i < own.nodes(); ++i)
    require(graph.segment_end(0, i) - graph.offsets[i] == own.degree(i),
            "node {} has {} edges to attend by, but {} with features", i,
            graph.segment_end(0, i) - graph.offsets[i], own.degree(i));
  SharedArray<EdgeOffset> rows = own.offsets;
  if (graph.virtual_nodes > 0) {  // which have no graph edges
    Buffer<EdgeOffset> longer(graph.nodes() + 1, MemoryTag::graph);
    std::fill(std::ranges::copy(own.offsets.span(), longer.begin()).out, longer.end(), own.edges());
    rows = std::move(longer);
  }
  graph.features = {count, std::move(rows), std::move(values)};
}

}  // namespace spex
