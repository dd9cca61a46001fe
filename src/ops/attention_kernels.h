// What the attention kernels are given. All pointers are to padded rows: H heads of D floats each,
// D being 4 or a multiple of 8, zeros behind the real width. Rows follow each other at once, but
// for those that have a stride.
//
// Letters: i query, j key, t edge type, h head; per head
//   score_ij = (mod_t * q_i) . k_j + bias_t (+ weight * value_ij)
//              mod and bias hold 1/T and 1/sqrt(D)
//   w_ij     = exp(clamp(score_ij, -c, c))
//   S_i      = sum_j w_ij + 1e-6,   o_i = sum_j w_ij v_j / S_i
// Backward, with g_i = do_i / S_i and delta_i = g_i . o_i:
//   ds_ij = w_ij (g_i . v_j - delta_i), zero where the clamp cut
//   dq_i  = sum_t mod_t * sum_j ds_ij k_j         dk_j = sum_t mod_t * sum_i ds_ij q_i
//   dv_j  = sum_i w_ij g_i     dmod_t = sum_ij ds_ij q_i * k_j     dbias_t = sum_ij ds_ij
// Graph edges with features x_ij have mod_0 + sum_f x_ijf E_f for mod_t, which in the sums of dq
// and dk then stands within the sum, bias_0 + sum_f x_ijf B_f for bias_t, and
//   dE_f  = sum_ij ds_ij x_ijf q_i * k_j     dB_f = sum_ij ds_ij x_ijf
// Folded: mod_t * q_i is given for each t, k_j = v_j, and dk_j is the sum of both gradients.
// Both sums over the neighbours of a row have one shape, so one kernel serves queries (reading rows
// of [k | v]) and keys (walking the transpose, reading rows of [q | g]).
#pragma once

#include <spex/graph/attention_graph.h>

#include "core/dispatch.h"
#include "ops/attention_layout.h"

namespace spex {

inline constexpr size_t kMaxAttentionWidth = 1024;  // heads x padded head width
inline constexpr size_t kMaxAttentionHeads = 64;
inline constexpr float kSoftmaxEpsilon = 1e-6F;

constexpr size_t padded_features(size_t count) {
  return (count + 7) / 8 * 8;
}

// Neighbours of each row, grouped by type: compressed rows (offsets, ends) or fixed degree
// (counts).
struct PatternView {
  size_t rows = 0;
  const NodeId* chosen = nullptr;  // with offsets: row i is that of node chosen[i]; null: of node i
  size_t nodes = 0;                // that offsets, ends and counts are for
  size_t types = 1;
  const NodeId* neighbours = nullptr;
  size_t edges = 0;                     // entries of `neighbours` that may be read ahead
  const EdgeOffset* offsets = nullptr;  // nodes + 1, or null for fixed degree
  const EdgeOffset* ends = nullptr;     // (types - 1) * nodes
  size_t k = 0;
  const uint16_t* counts = nullptr;  // types * nodes, cumulative
  const float* values = nullptr;     // one per neighbour, or null
  const float* features = nullptr;   // of graph edges, feature_count each; null: not used
  size_t feature_count = 0;
  const EdgeOffset* feature_rows = nullptr;  // see EdgeFeatures; null: as `neighbours`
};

// Two tables read together by neighbour id: keys and values, or queries and g.
struct TableView {
  const float* x = nullptr;
  const float* y = nullptr;
  size_t stride = 0;       // of both, but for
  size_t x_stride = 0;     // x of the key side of folded attention, where
  size_t type_stride = 0;  // each type has its vector
};

struct AttentionView {
  PatternView pattern;
  TableView table;
  size_t heads = 1;
  size_t width = 8;                      // D, padded
  LayoutKind layout = LayoutKind::wide;  // packed: y == x + 8, the stride is 16
  bool prefetch = true;                  // the table does not fit the second-level cache
  const float* mod = nullptr;            // types * H*D
  const float* bias = nullptr;           // types * H
  const float* value_weight = nullptr;   // H; with pattern.values
  const float* edge_mod = nullptr;       // features * H*D; with pattern.features
  const float* edge_bias = nullptr;      // H * feature_floats(), zeros behind the features
  float clamp = 8.0F;

  // Folded, queries bring their modulated vectors, types * D floats each.
  bool folded() const { return layout == LayoutKind::folded; }
  size_t query_floats() const { return (folded() ? pattern.types : heads) * width; }
  size_t feature_floats() const { return padded_features(pattern.feature_count); }
};

struct AttentionForward {
  AttentionView view;
  const float* q = nullptr;      // rows * H*D
  float* out = nullptr;          // rows * H*D
  float* inverse_sum = nullptr;  // rows * H
};

struct AttentionScores {
  AttentionView view;
  const float* q = nullptr;
  float* scores = nullptr;  // one per neighbour and head: [edge - first_edge][h]
  EdgeOffset first_edge = 0;
};

struct AttentionBackward {
  AttentionView view;
  bool key_side = false;         // rows are keys: deltas are the neighbours', dy is wanted
  size_t x_stride = 0;           // from row to row of row_x and dx
  size_t y_stride = 0;           // of row_y and dy
  const float* row_x = nullptr;  // q, or k on the key side; rows * H*D
  const float* row_y = nullptr;  // g, or v on the key side
  const float* delta = nullptr;  // H per query
  float* dx = nullptr;           // rows * H*D: dq, or dk
  float* dy = nullptr;           // dv, on the key side
  // Query side, added to: what the parameters get from these rows.
  float* dmod = nullptr;        // types * H*D
  float* dbias = nullptr;       // types * H
  float* dweight = nullptr;     // H
  float* dedge_mod = nullptr;   // features * H*D
  float* dedge_bias = nullptr;  // H * feature_floats()
};

// Rows [begin, end). Disjoint ranges write disjoint rows, so ranges can run in parallel.
SPEX_KERNEL(void attention_forward(const AttentionForward& c, size_t begin, size_t end))
SPEX_KERNEL(void attention_scores(const AttentionScores& c, size_t begin, size_t end))
SPEX_KERNEL(void attention_backward(const AttentionBackward& c, size_t begin, size_t end))

}  // namespace spex
