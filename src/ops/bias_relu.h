// What follows the product in a linear layer, and its gradient.
#pragma once

#include <spex/ops/linear.h>
#include <spex/tensor/matrix.h>

namespace spex {

// y <- y + bias, then ReLU if asked. `bias` may be null.
void add_bias_and_activate(MatrixView y, const float* bias, Activation activation);

// dy <- factor dy where y > 0: the gradient of ReLU, and of dropout behind it, from the result alone.
void mask_by_sign(MatrixView dy, ConstMatrixView y, float factor = 1.0F);

void check_linear(size_t inputs, const Var& weight, const Var& bias);

}  // namespace spex
