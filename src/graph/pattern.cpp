#include <spex/core/error.h>
#include <spex/graph/pattern.h>

namespace spex {

Pattern Pattern::all_rows(const AttentionGraph& graph, const AttentionGraph& transposed) {
  require(transposed.nodes() == graph.nodes() && transposed.edges() == graph.edges(),
          "a pattern of {} nodes and {} edges needs its transpose, not a graph of {} and {}",
          graph.nodes(), graph.edges(), transposed.nodes(), transposed.edges());
  Pattern pattern;
  pattern.graph = &graph;
  pattern.transposed = &transposed;
  return pattern;
}

Pattern Pattern::chosen_rows(const AttentionGraph& graph, const ChosenRows& chosen) {
  require(chosen.transposed.nodes() == graph.nodes(),
          "a pattern of {} nodes was given rows chosen of a graph of {}", graph.nodes(),
          chosen.transposed.nodes());
  Pattern pattern;
  pattern.graph = &graph;
  pattern.chosen = &chosen;
  return pattern;
}

Pattern Pattern::row_range(const AttentionGraph& graph, size_t first, size_t count) {
  require(first <= graph.nodes() && count <= graph.nodes() - first,
          "rows {} to {} of a graph of {} nodes", first, first + count, graph.nodes());
  Pattern pattern;
  pattern.graph = &graph;
  pattern.first = first;
  pattern.count = count;
  return pattern;
}

Pattern Pattern::sampled(const NeighbourMatrix& sample) {
  Pattern pattern;
  pattern.sample = &sample;
  return pattern;
}

size_t Pattern::queries() const {
  if (sample) return sample->queries;
  if (chosen) return chosen->nodes.size();
  return transposed ? graph->nodes() : count;
}

size_t Pattern::sources() const {
  return sample ? sample->sources : graph->nodes();
}

size_t Pattern::types() const {
  return sample ? sample->types : graph->types;
}

}  // namespace spex
