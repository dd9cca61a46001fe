// Sparse attention: each query attends to the neighbours a pattern gives it. Per head, with E and B
// chosen by the edge's type,
//
//   score_ij = sum_d E[type]_d q_id k_jd * scale + B[type]      scale: 1/sqrt(D) or 1
//   w_ij     = exp(clamp(score_ij / T, -c, c)),    out_i = sum_j w_ij v_j / (sum_j w_ij + 1e-6)
//
// Where the graph's own edges have features x_ij, E and B of such an edge are linear in them, with
// the type's as the constants: E[graph] + sum_f x_ijf E_f and B[graph] + sum_f x_ijf B_f.
//
// Nothing edge-sized is kept: forward stores the normaliser per query and head, backward computes
// the scores again. The gradients of keys and values walk the transposed pattern, so no two threads
// write the same row and the result does not depend on the number of threads.
#pragma once

#include <spex/core/half.h>
#include <spex/graph/attention_graph.h>
#include <spex/graph/neighbour_matrix.h>
#include <spex/tensor/tape.h>

#include <span>

namespace spex {

struct AttentionOptions {
  size_t heads = 1;            // divides the width; heads are concatenated
  bool scale_by_width = true;  // divide by sqrt(D)
  float temperature = 1.0F;
  float clamp = 8.0F;
};

// What dot products of heads of `width` features are multiplied by: 1/T, and 1/sqrt(D) if asked
// for.
float score_factor(const AttentionOptions& options, size_t width);

struct AttentionInputs {
  // N x width each; q may have fewer rows where there are fewer queries. Regular attention without
  // v is folded: keys are their own values, q is queries x (types * width), a vector for each edge
  // type with modulation, scale and temperature in it, and there is one head.
  Var q, k, v;
  Var modulation;        // E, types x width; empty: ones
  Var bias;              // B, types x heads; empty: zeros
  Var log_score_weight;  // 1 x heads, times the pattern's log-scores; empty: not used
  bool joined = false;   // k is N x 2 width, keys and values side by side, and there is no v
  // For a pattern whose edges have features; without edge_modulation those are ignored.
  Var edge_modulation = {};  // E_f, features x width; not for folded queries
  Var edge_bias = {};        // B_f, features x heads; empty: zeros
};
inline constexpr size_t kMaxEdgeFeatures = 64;

// Whether attention takes keys and values joined: for heads of a multiple of 8, but not one of 8. A
// neighbour is then read at one place, not two.
bool takes_joined(size_t width, size_t heads);

// What attention makes besides its inputs and results, in floats: rows of q, out and the gradients
// have `row` while the kernels work on them (the width itself where nothing is padded), and each
// key or query that is read by others has `table` in a copy (0 where it is read in its place).
struct AttentionPadding {
  size_t row = 0;
  size_t table = 0;
};
AttentionPadding attention_padding(size_t width, size_t heads, bool folded);

// `transposed` is transpose(graph); both must outlive the tape.
Var sparse_attention(Tape& tape, const AttentionInputs& in, const AttentionGraph& graph,
                     const AttentionGraph& transposed, const AttentionOptions& options);

// The same for the chosen nodes only, whose rows q has.
Var sparse_attention(Tape& tape, const AttentionInputs& in, const AttentionGraph& graph,
                     const ChosenRows& chosen, const AttentionOptions& options);

// Queries are the first pattern.queries rows; `pattern` must outlive the tape.
Var regular_attention(Tape& tape, const AttentionInputs& in, const NeighbourMatrix& pattern,
                      const AttentionOptions& options);

// The folded q of the queries x is x F, with F = factor [W_q diag(E_t) W_k^T] side by side for each
// type t: width x (types * width).
Var fold_queries(Tape& tape, const Var& q_weight, const Var& k_weight, const Var& modulation,
                 float factor);

// The normalised scores w_ij / sum_j w_ij of every edge: [edge][head]. For every row they add up to
// one.
void sparse_attention_scores(std::span<float> scores, const AttentionInputs& in,
                             const AttentionGraph& graph, const AttentionOptions& options);
void sparse_attention_scores(std::span<Half> scores, const AttentionInputs& in,
                             const AttentionGraph& graph, const AttentionOptions& options);

}  // namespace spex
