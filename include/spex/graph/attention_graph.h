// The graph that attention runs on: graph edges, expander edges, self-loops (and, as an option,
// virtual nodes). Within a row the neighbours are grouped by edge type, so the type of an edge is
// its position:
//
//   row i:  [ graph edges | expander edges | self-loop | virtual edges ]
//            ^offsets[i]   ^ends[0*N + i] ...                          ^offsets[i+1]
//
// segment_ends[t * nodes + i] is where, in `neighbours`, the edges of type t of row i end.
#pragma once

#include <spex/graph/csr.h>

#include <vector>

namespace spex {

enum class EdgeType : uint8_t { graph, expander, self_loop, virtual_node };
inline constexpr size_t kMaxEdgeTypes = 4;

// Numbers that the graph's own edges have (EdgeType::graph), those of a row one after the other, in
// the order of its graph edges.
struct EdgeFeatures {
  size_t count = 0;              // per edge; 0: edges have none
  SharedArray<EdgeOffset> rows;  // nodes + 1: the edge that a node's first one is
  SharedArray<float> values;     // rows[nodes] x count
};

struct AttentionGraph {
  SharedArray<EdgeOffset> offsets;  // nodes + 1
  SharedArray<NodeId> neighbours;
  SharedArray<EdgeOffset>
      segment_ends;  // (types - 1) * nodes: the last type ends where the row ends
  size_t types = 3;
  bool symmetric = false;    // the transpose, grouped by type as well, is this graph itself
  size_t virtual_nodes = 0;  // the last so many nodes are virtual
  EdgeFeatures features = {};

  size_t nodes() const { return offsets.empty() ? 0 : offsets.size() - 1; }
  size_t edges() const { return neighbours.size(); }
  EdgeOffset segment_begin(size_t type, size_t node) const {
    return type == 0 ? offsets[node] : segment_end(type - 1, node);
  }
  EdgeOffset segment_end(size_t type, size_t node) const {
    return type + 1 == types ? offsets[node + 1] : segment_ends[type * nodes() + node];
  }
};

struct AugmentOptions {
  bool self_loops = true;
  size_t virtual_nodes =
      0;  // each joined to every node, both ways, by edges of a type of their own
};

// Joins a graph with an expander over the same nodes (or an empty one) and self-loops. The result
// is symmetric when both are. A graph may be directed; a row lists what its node attends to.
AttentionGraph augment(const CsrGraph& graph, const CsrGraph& expander,
                       const AugmentOptions& options = {});

// Gives the graph's own edges their features: `values` has `count` of each edge of `own`, which is
// the graph that `graph` was augmented from.
void add_edge_features(AttentionGraph& graph, const CsrGraph& own, SharedArray<float> values,
                       size_t count);

// Row j lists the nodes that attend to j, grouped by type, with the features of those edges. Shares
// the arrays when symmetric, and the features when both directions of every edge have the same.
// Within a type the nodes ascend.
AttentionGraph transpose(const AttentionGraph& graph);

// A value per edge, in the order of the transposed graph's entries.
Buffer<float> transpose_values(const AttentionGraph& graph, const AttentionGraph& transposed,
                               std::span<const float> values);

// Some rows of a graph, for a layer that computes those nodes only.
struct ChosenRows {
  std::vector<NodeId> nodes;
  AttentionGraph transposed;  // row j lists which of them, by their place in `nodes`, attend to j
};
ChosenRows choose_rows(const AttentionGraph& transposed, std::vector<NodeId> nodes);

// A hash of the structure: tells whether scores in a file belong to this graph.
uint64_t fingerprint(const AttentionGraph& graph);

}  // namespace spex
