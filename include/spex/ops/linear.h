// y = x W + b, W: in x out. With relu: y = max(0, x W + b), in the same pass.
#pragma once

#include <spex/core/random.h>
#include <spex/tensor/sparse_matrix.h>
#include <spex/tensor/tape.h>

namespace spex {

enum class Activation { none, relu };

// `bias` is 1 x out, or an empty Var for none.
Var linear(Tape& tape, const Var& x, const Var& weight, const Var& bias = {},
           Activation activation = Activation::none);

// Dropout (elementwise.h) of max(0, x W + b), in the same pass. `rate` 0 drops nothing.
Var linear_relu_dropped(Tape& tape, const Var& x, const Var& weight, const Var& bias, float rate,
                        const Random& random);

// As linear(), for sparse features, which are constants: W and b alone get gradients. x must outlive
// the tape.
Var linear(Tape& tape, const SparseMatrix& x, const Var& weight, const Var& bias = {},
           Activation activation = Activation::none);

}  // namespace spex
