// Each thread owns a range of the transposed rows and reads all edges in order, taking its own: no
// atomics, nothing edge-sized besides the result, and sources that ascend because they were read
// so.

#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/graph/attention_graph.h>

#include <algorithm>
#include <utility>

namespace spex {
namespace {

// Calls take(type, target, source, entry) for each edge whose target lies in [begin, end).
template <class Take>
void for_edges_to(const AttentionGraph& graph, NodeId begin, NodeId end, Take take) {
  NodeId width = end - begin;
  for (size_t i = 0; i < graph.nodes(); ++i) {
    EdgeOffset e = graph.offsets[i];
    for (size_t type = 0; type < graph.types; ++type)
      for (EdgeOffset stop = graph.segment_end(type, i); e < stop; ++e) {
        NodeId target = graph.neighbours[e];
        if (target - begin < width) take(type, target, static_cast<NodeId>(i), e);
      }
  }
}

// One cursor per type and row. All but the last type's become the segment ends of the result.
class Cursors {
 public:
  Cursors(size_t types, size_t nodes)
      : nodes_(nodes),
        types_(types),
        ends_((types - 1) * nodes, MemoryTag::graph),
        last_(nodes, MemoryTag::graph) {}
  EdgeOffset& at(size_t type, size_t node) {
    return type + 1 == types_ ? last_[node] : ends_[type * nodes_ + node];
  }
  Buffer<EdgeOffset> take_ends() { return std::move(ends_); }

 private:
  size_t nodes_, types_;
  Buffer<EdgeOffset> ends_, last_;
};

template <class Body>
void for_ranges(size_t nodes, Body body) {
  size_t ranges = 2 * static_cast<size_t>(threads());
  size_t width = std::max<size_t>(1, (nodes + ranges - 1) / ranges);
  parallel_for(nodes, width, [&](size_t begin, size_t end) {
    body(static_cast<NodeId>(begin), static_cast<NodeId>(end));
  });
}

void count_edges(const AttentionGraph& graph, Cursors& cursors) {
  for_ranges(graph.nodes(), [&](NodeId begin, NodeId end) {
    for (size_t type = 0; type < graph.types; ++type)
      for (NodeId j = begin; j < end; ++j) cursors.at(type, j) = 0;
    for_edges_to(graph, begin, end,
                 [&](size_t type, NodeId j, NodeId, EdgeOffset) { ++cursors.at(type, j); });
  });
}

// From counts to where each segment begins; returns the offsets of the rows.
Buffer<EdgeOffset> counts_to_begins(size_t types, size_t nodes, Cursors& cursors) {
  Buffer<EdgeOffset> offsets(nodes + 1, MemoryTag::graph);
  EdgeOffset total = 0;
  for (size_t j = 0; j < nodes; ++j) {
    offsets[j] = total;
    for (size_t type = 0; type < types; ++type) {
      EdgeOffset& cursor = cursors.at(type, j);
      total += std::exchange(cursor, total);
    }
  }
  offsets[nodes] = total;
  return offsets;
}

}  // namespace

AttentionGraph transpose(const AttentionGraph& graph) {
  if (graph.symmetric || graph.nodes() == 0) return graph;
  Cursors cursors(graph.types, graph.nodes());
  count_edges(graph, cursors);
  Buffer<EdgeOffset> offsets = counts_to_begins(graph.types, graph.nodes(), cursors);
  Buffer<NodeId> neighbours(graph.edges(), MemoryTag::graph);
  // Filling moves each cursor from the begin of its segment to the end.
  for_ranges(graph.nodes(), [&](NodeId begin, NodeId end) {
    for_edges_to(graph, begin, end, [&](size_t type, NodeId j, NodeId source, EdgeOffset) {
      neighbours[cursors.at(type, j)++] = source;
    });
  });
  return {std::move(offsets), std::move(neighbours), cursors.take_ends(),
          graph.types,        graph.symmetric,       graph.virtual_nodes};
}

Buffer<float> transpose_values(const AttentionGraph& graph, const AttentionGraph& transposed,
                               std::span<const float> values) {
  require(values.size() == graph.edges() && transposed.edges() == graph.edges(),
          "{} values for a graph of {} edges and a transpose of {}", values.size(), graph.edges(),
          transposed.edges());
  Cursors cursors(graph.types, graph.nodes());
  Buffer<float> result(values.size(), MemoryTag::graph);
  for_ranges(graph.nodes(), [&](NodeId begin, NodeId end) {
    for (size_t type = 0; type < graph.types; ++type)
      for (NodeId j = begin; j < end; ++j) cursors.at(type, j) = transposed.segment_begin(type, j);
    for_edges_to(graph, begin, end, [&](size_t type, NodeId j, NodeId, EdgeOffset e) {
      result[cursors.at(type, j)++] = values[e];
    });
  });
  return result;
}

}  // namespace spex
