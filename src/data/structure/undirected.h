// A graph whose edges stand in both directions: the given one, or a copy of it that is so.
#pragma once

#include <spex/graph/builder.h>
#include <spex/graph/csr.h>

#include <vector>

namespace spex {

inline CsrGraph undirected(const CsrGraph& graph) {
  if (graph.symmetric) return graph;
  std::vector<NodeId> sources(graph.edges());
  for (size_t node = 0; node < graph.nodes(); ++node)
    std::fill(sources.begin() + static_cast<std::ptrdiff_t>(graph.offsets[node]),
              sources.begin() + static_cast<std::ptrdiff_t>(graph.offsets[node + 1]),
              static_cast<NodeId>(node));
  return build_csr(graph.nodes(), sources, graph.neighbours.span(), {}).graph;
}

}  // namespace spex
