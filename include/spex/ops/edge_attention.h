// Sparse attention with real-valued features per edge in place of edge types: E and B are linear in
// the edge's features x_ij,
//
//   score_ij = sum_f x_ij,f (sum_d E_fd q_id k_jd * scale + B_f)
//
// and the rest is as in attention.h. One-hot features give types back. Nothing edge-sized is kept
// but the features themselves.
#pragma once

#include <spex/ops/attention.h>

namespace spex {

// Who attends to each node, and which edge of the graph that is.
struct IncomingEdges {
  Buffer<EdgeOffset> offsets;  // nodes + 1
  Buffer<NodeId> queries;
  Buffer<EdgeOffset> edges;  // positions in graph.neighbours
};
IncomingEdges incoming_edges(const AttentionGraph& graph);

// in.modulation: features x width, in.bias: features x heads (or empty: ones, zeros);
// edge_features: graph.edges() x features. Graph, incoming edges and features must outlive the
// tape.
Var edge_attention(Tape& tape, const AttentionInputs& in, const AttentionGraph& graph,
                   const IncomingEdges& incoming, ConstMatrixView edge_features,
                   const AttentionOptions& options);

}  // namespace spex
