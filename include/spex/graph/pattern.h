// Who each query of a layer sees: all rows of a graph, some of them, or a sample of fixed degree. A
// cheap value that owns nothing: what it was made of must outlive it, and the tape of every
// operation that was given it.
#pragma once

#include <spex/graph/attention_graph.h>
#include <spex/graph/neighbour_matrix.h>

namespace spex {

struct Pattern {
  // Query i is node i. `transposed` is transpose(graph).
  static Pattern all_rows(const AttentionGraph& graph, const AttentionGraph& transposed);
  // Query i is node chosen.nodes[i].
  static Pattern chosen_rows(const AttentionGraph& graph, const ChosenRows& chosen);
  // Query i is node first + i. For evaluation: there is no transpose to go back along.
  static Pattern row_range(const AttentionGraph& graph, size_t first, size_t count);
  // Query i is the sample's row i.
  static Pattern sampled(const NeighbourMatrix& sample);

  size_t queries() const;
  size_t sources() const;  // rows of the layer's input; every neighbour is below it
  size_t types() const;

  // Either the graph, with its transpose, its chosen rows or a range, or the sample; the others are
  // null.
  const AttentionGraph* graph = nullptr;
  const AttentionGraph* transposed = nullptr;
  const ChosenRows* chosen = nullptr;
  const NeighbourMatrix* sample = nullptr;
  size_t first = 0, count = 0;  // of a range
};

}  // namespace spex
