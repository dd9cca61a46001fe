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

  // How many nodes layer l computes: a prefix of its input's rows.
  std::function<size_t(size_t layer)> queries;
  Attend attend;
  size_t types = 3;
  bool sampled = false;  // fixed degree: many more keys than queries, in a batch
};

// All edges in every layer. The graphs must outlive the plan.
AttentionPlan full_attention(const AttentionGraph& graph, const AttentionGraph& transposed);

// The same, and the normalised scores of layer l are written to scores[l] (one head: graph.edges()
// long).
AttentionPlan scoring_attention(const AttentionGraph& graph, const AttentionGraph& transposed,
                                std::span<Buffer<Half>> scores);

// One pattern per layer, as a batch has them.
AttentionPlan sampled_attention(std::span<const NeighbourMatrix> layers);

}  // namespace spex
