// Linear maps, and two of them with a ReLU between.
#pragma once

#include <spex/core/random.h>
#include <spex/graph/csr.h>
#include <spex/tensor/sparse_matrix.h>
#include <spex/tensor/tape.h>

#include <span>

namespace spex {

// y = x W + b, W: in x out. `bias` is 1 x out, or an empty Var for none. `rows`, ascending, are those
// of x to take (none: all); they must outlive the tape.
Var linear(Tape& tape, const Var& x, const Var& weight, const Var& bias = {},
           std::span<const NodeId> rows = {});

// y + x W + b, in the buffer of y if that was handed over.
Var add_linear(Tape& tape, Var y, const Var& x, const Var& weight, const Var& bias = {},
               std::span<const NodeId> rows = {});

// x W + b for sparse features, which are constants: W and b alone get gradients. x must outlive
// the tape.
Var linear(Tape& tape, const SparseMatrix& x, const Var& weight, const Var& bias = {});

struct FeedForward {
  Var up, up_bias, down, down_bias;
};

// y = dropout(max(0, x U + u)) D + d (dropout: elementwise.h). The hidden layer is never whole in
// memory: a block of its rows is made, used and forgotten, and made again in backward.
Var feed_forward(Tape& tape, const Var& x, const FeedForward& weights, float rate,
                 const Random& random);

}  // namespace spex
