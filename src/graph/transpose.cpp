// Each thread owns a range of the transposed rows and reads all edges in order, taking its own: no
// atomics, nothing edge-sized besides the result, and sources that ascend because they were read
// so.

#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/graph/attention_graph.h>

#include <algorithm>
#include <atomic>
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

// Calls use(entry of the transpose, its features' place, those of the graph's edge) for every graph
// edge. `rows` are those of the transpose's features.
template <class Use>
void for_features(const AttentionGraph& graph, const AttentionGraph& transposed,
                  std::span<const EdgeOffset> rows, Use use) {
  Buffer<EdgeOffset> next(graph.nodes(), MemoryTag::graph);
  for_ranges(graph.nodes(), [&](NodeId begin, NodeId end) {
    std::copy(rows.begin() + begin, rows.begin() + end, next.begin() + begin);
    for_edges_to(graph, begin, end, [&](size_t type, NodeId j, NodeId i, EdgeOffset e) {
      if (type != 0) return;
      EdgeOffset place = next[j]++;
      use(transposed.offsets[j] + (place - rows[j]), i, place,
          graph.features.rows[i] + (e - graph.offsets[i]));
    });
  });
}

// Whether both directions of every edge have the same features.
bool same_both_ways(const AttentionGraph& graph) {
  size_t width = graph.features.count;
  std::atomic<bool> same = true;
  const float* values = graph.features.values.data();
  for_features(
      graph, graph, graph.features.rows.span(),
      [&](EdgeOffset entry, NodeId source, EdgeOffset to, EdgeOffset from) {
        require(graph.neighbours[entry] == source,
                "a graph with edge features must list each node's neighbours in "
                "ascending order");
        if (!std::equal(values + to * width, values + (to + 1) * width, values + from * width))
          same.store(false, std::memory_order_relaxed);
      });
  return same;
}

EdgeFeatures transposed_features(const AttentionGraph& graph, const AttentionGraph& transposed) {
  size_t nodes = graph.nodes(), width = graph.features.count;
  if (width == 0 || (graph.symmetric && same_both_ways(graph))) return graph.features;
  Buffer<EdgeOffset> rows(nodes + 1, MemoryTag::graph);
  rows[0] = 0;
  for (size_t j = 0; j < nodes; ++j)
    rows[j + 1] = rows[j] + transposed.segment_end(0, j) - transposed.offsets[j];
  Buffer<float> values(rows[nodes] * width, MemoryTag::graph);
  for_features(graph, transposed, std::as_const(rows).span(),
               [&](EdgeOffset, NodeId, EdgeOffset to, EdgeOffset from) {
                 std::copy_n(graph.features.values.begin() + from * width, width,
                             values.begin() + to * width);
               });
  return {width, std::move(rows), std::move(values)};
}

AttentionGraph transposed_structure(const AttentionGraph& graph) {
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

}  // namespace

AttentionGraph transpose(const AttentionGraph& graph) {
  if (graph.nodes() == 0) return graph;
  AttentionGraph transposed = graph.symmetric ? graph : transposed_structure(graph);
  transposed.features = transposed_features(graph, transposed);
  return transposed;
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
