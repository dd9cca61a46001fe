// Positive random features, whose products stand for exp(q . k) on average: NodeFormer's softmax
// attention over all pairs is linear_attention on them.
#pragma once

#include <spex/core/random.h>
#include <spex/graph/pattern.h>
#include <spex/tensor/tape.h>

namespace spex {

// `features` Gaussian directions of `width` numbers: in blocks of `width`, orthogonal within a
// block, with lengths as those of independent Gaussian rows.
Matrix orthogonal_projection(size_t features, size_t width, const Random& random);

// exp(g / temperature) with g Gumbel's, per key and head, lowered by a head's largest so that none
// overflows: the weights of linear_attention's keys that make it a sample of a softmax.
Matrix gumbel_weights(size_t keys, size_t heads, float temperature, const Random& random);

struct RandomFeatureOptions {
  float temperature = 1.0F;
  // The exponents are lowered by their maximum, which is a constant in backward: that of a query's
  // own features, or, for keys, which must stay comparable, that of all rows.
  bool keys = false;
};

// Per head, phi(u) = M^-1/2 (exp(u' P^T - |u'|^2 / 2 - maximum of u' P^T) + 1e-6) with u' = u
// D^-1/4 / sqrt(temperature). u: N x (heads D); projection: M x D, a constant; the result is N x
// (heads M).
Var random_features(Tape& tape, const Var& u, const Var& projection, size_t heads,
                    const RandomFeatureOptions& options);

// NodeFormer's regulariser: the mean over edges and heads of log(A_ij) / degree(i), where A_ij =
// q_i . k_j / sum_l q_i . k_l, l over all nodes, and i sees j. 1 x 1. For patterns of all rows;
// features must be positive. Nothing edge-sized is kept.
Var edge_log_attention(Tape& tape, const Var& q, const Var& k, const Pattern& pattern,
                       size_t heads);

}  // namespace spex
