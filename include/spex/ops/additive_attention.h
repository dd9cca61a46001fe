// The attention of GAT: scores are sums, not products. Per head, with z_ij = source_j + query_i,
//
//   e_ij = z_ij where it is positive, else slope z_ij;   a_ij = softmax of e_ij over the sources j
//   that query i sees;   out_i = sum_j a_ij s_j,   heads concatenated
//
// The softmax is taken about the largest score of each row, so scores may be of any size. Nothing
// edge-sized is kept: backward computes the scores again.
#pragma once

#include <spex/graph/pattern.h>
#include <spex/tensor/tape.h>

namespace spex {

struct AdditiveInputs {
  Var values;         // s: sources x (heads * width)
  Var source_scores;  // sources x heads
  Var query_scores;   // queries x heads
};

// A query that sees nothing gets zeros. slope: in [0, 1].
Var additive_attention(Tape& tape, const AdditiveInputs& in, const Pattern& pattern,
                       float slope = 0.2F);

// The scores from the values: row i, head h is the inner product of x's and the vector's head h.
// x: rows x (heads * width); vector: 1 x (heads * width).
Var head_products(Tape& tape, const Var& x, const Var& vector, size_t heads);

}  // namespace spex
