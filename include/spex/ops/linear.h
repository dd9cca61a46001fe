// y = x W + b, W: in x out. With relu: y = max(0, x W + b), in the same pass.
#pragma once

#include <spex/tensor/sparse_matrix.h>
#include <spex/tensor/tape.h>

namespace spex {

enum class Activation { none, relu };

// `bias` is 1 x out, or an empty Var for none.
Var linear(Tape& tape, const Var& x, const Var& weight, const Var& bias = {},
           Activation activation = Activation::none);

// The same for sparse features, which are constants: W and b alone get gradients. x must outlive
// the tape.
Var linear(Tape& tape, const SparseMatrix& x, const Var& weight, const Var& bias = {},
           Activation activation = Activation::none);

}  // namespace spex
