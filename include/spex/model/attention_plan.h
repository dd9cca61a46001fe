// Who attends to whom, layer by layer: over a whole attention graph, or over a sampled batch.
#pragma once

#include <spex/core/half.h>
#include <spex/ops/attention.h>

#include <functional>
#include <span>
#include <vector>

namespace spex {

struct AttentionPlan {
  using Attend =
      std::function<Var(Tape&, size_t layer, const AttentionInputs&, const AttentionOptions&)>;

  // The rows of its input that layer l computes.
  std::function<Var(Tape&, size_t layer, const Var& x)> queries;
  Attend attend;
  size_t types = 3;
  bool sampled = false;      // fixed degree: many more keys than queries, in a batch
  size_t virtual_nodes = 0;  // the last so many rows that the last layer computes
};

// All edges in every layer. The graphs must outlive the plan.
AttentionPlan full_attention(const AttentionGraph& graph, const AttentionGraph& transposed);

// The same, but layer `last` computes the chosen nodes only, which must outlive the plan as well.
AttentionPlan full_attention(const AttentionGraph& graph, const AttentionGraph& transposed,
                             size_t last, const ChosenRows& chosen);

// All edges, and the normalised scores of layer l are written to scores[l] (one head: graph.edges()
// long).
AttentionPlan scoring_attention(const AttentionGraph& graph, const AttentionGraph& transposed,
                                std::span<Buffer<Half>> scores);

// One pattern per layer, as a batch has them.
AttentionPlan sampled_attention(std::span<const NeighbourMatrix> layers);

// The same, but the last layer computes `nodes` only, for which `pattern` is.
AttentionPlan sampled_attention(std::span<const NeighbourMatrix> layers,
                                const NeighbourMatrix& pattern, std::span<const NodeId> nodes);

}  // namespace spex
