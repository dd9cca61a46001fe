// Attention of all nodes to all nodes without a softmax, whose cost grows with the number of nodes
// and not with its square. Per head,
//
//   out_i = (q_i S + a v_i + b sum_j v_j) / (q_i . z + c),   S = sum_j k_j^T v_j,  z = sum_j k_j
//
// SGFormer: a = c = N. DIFFormer: b = 1, c = N. Polynormer: all zero, queries = keys. NodeFormer:
// all zero, on random features.
#pragma once

#include <spex/tensor/tape.h>

namespace spex {

struct LinearAttentionOptions {
  float own_value = 0;  // a; unless it is 0, there are as many keys as queries
  float value_sum = 0;  // b
  float constant = 0;   // c
  // keys x heads, a constant: w_jh k_j stands for k_j in S and z; empty: ones
  Var key_weights = {};
};

// q: N x (heads K), k: M x (heads K), v: M x (heads D); the result is N x (heads D). Any of them
// may be the same Var. The denominators must not be zero.
Var linear_attention(Tape& tape, const Var& q, const Var& k, const Var& v, size_t heads,
                     const LinearAttentionOptions& options);

}  // namespace spex
