// Numbers that describe edges, carried along when a list of edges becomes a graph.
#pragma once

#include <spex/graph/builder.h>

#include <span>

namespace spex {

// What parallel edges that become one edge have in common.
enum class EdgeCombine { mean, sum, max };

// From `width` values per edge of the list to `width` values per edge of the graph that
// build_csr(graph.nodes(), sources, targets, options) made of it, in the order of
// graph.neighbours. The reverse of an edge has its values. Parallel; where edges are kept apart,
// they have their values in the order of the list.
Buffer<float> place_edge_values(const CsrGraph& graph, std::span<const NodeId> sources,
                                std::span<const NodeId> targets, std::span<const float> values,
                                size_t width, EdgeCombine combine, const BuildOptions& options);

}  // namespace spex
