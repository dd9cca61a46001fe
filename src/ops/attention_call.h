// One attention call, as the kernels see it: who attends to whom, how rows lie, the coefficients.
// N rows, H heads, D head width, W = H D.
#pragma once

#include <spex/ops/attention.h>

#include "ops/attention_kernels.h"

namespace spex {

inline constexpr size_t kAttentionBlockRows = 128;

// All that the two directions share. Patterns are views of the caller's graph.
struct AttentionCall {
  PatternView rows;  // neighbours of queries
  size_t sources = 0;
  AttentionLayout layout;
  bool joined = false;  // see AttentionInputs
  AttentionOptions options;

  ConstMatrixView keys(ConstMatrixView k) const;
  ConstMatrixView values(ConstMatrixView k, ConstMatrixView v) const;
};

// Fails with a sentence where the inputs do not fit each other.
AttentionCall make_call(const AttentionInputs& in, const PatternView& rows, size_t sources,
                        const AttentionOptions& options);

// With edge features if the inputs have what they are multiplied by, with log-scores if theirs.
PatternView view_of(const AttentionGraph& graph, const AttentionInputs& in);
PatternView view_of(const NeighbourMatrix& pattern, const AttentionInputs& in);
// Of what was transposed; `forward` is the pattern's own view.
PatternView view_of(const TransposedNeighbours& transposed, size_t sources,
                    const PatternView& forward);

// Modulation and bias as the kernels want them: padded, with the scale and the temperature inside.
struct AttentionCoefficients {
  Matrix mod, bias, value_weight, edge_mod, edge_bias;
  float mod_factor, bias_factor;

  AttentionCoefficients(const AttentionInputs& in, const AttentionCall& call);
};

AttentionView kernel_view(const AttentionCall& call, const PatternView& pattern,
                          const TableView& table, const AttentionCoefficients& c);

// What backward needs besides the inputs' values.
struct KeptAttention {
  std::shared_ptr<const Value> q, k, v, out;
  AttentionInputs in;  // modulation and bias: values and gradients; q, k, v: gradients
  Matrix inverse_sum;  // queries x H
};

// Hands all gradients back. `transposed` are the neighbours of keys.
void give_attention_gradients(const AttentionCall& call, const PatternView& transposed,
                              KeptAttention& kept, Matrix dout);

}  // namespace spex
