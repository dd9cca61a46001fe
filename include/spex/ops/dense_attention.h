// Softmax attention without a graph: to all nodes, or within small groups of rows.
#pragma once

#include <spex/tensor/tape.h>

#include <span>

namespace spex {

struct AllPairsOptions {
  float scale = 1.0F;                    // of the scores, for example 1 / sqrt(head width)
  std::span<const float> key_bias = {};  // added to the scores of a key; empty: zeros
};

// out_i = sum_j softmax_j(scale q_i . k_j + bias_j) v_j, per head, over all keys: in blocks, so
// that memory grows with the nodes and not with their pairs. q: N x C, k and v: M x C. A bias of
// minus infinity leaves a key out; without any key the result is zero. The bias must outlive the
// tape.
Var all_pairs_attention(Tape& tape, const Var& q, const Var& k, const Var& v, size_t heads,
                        const AllPairsOptions& options);

// Rows come in groups of `tokens`; a row attends to the rows of its group, with scores divided by
// the root of the head width.
Var token_attention(Tape& tape, const Var& q, const Var& k, const Var& v, size_t tokens,
                    size_t heads);

// One row from each group of tokens t_0 .. t_K: t_0 + sum_k softmax_k(u . t_k) t_k, k from 1. u: 1
// x C. (NAGphormer scores u . [t_0, t_k]; the part that meets t_0 is the same for all k and
// cancels.)
Var hop_readout(Tape& tape, const Var& t, const Var& u, size_t tokens);

}  // namespace spex
