// The part of a graph among some of its nodes.
#pragma once

#include <spex/graph/attention_graph.h>

#include <span>

namespace spex {

// Node i of the result is nodes[i], each given once, in any order. Edges keep their types; within a
// type the neighbours ascend. The graph must have no virtual nodes.
AttentionGraph induced_subgraph(const AttentionGraph& graph, std::span<const NodeId> nodes);

}  // namespace spex
