#include "ops/bias_relu.h"

#include <spex/core/error.h>

#include <algorithm>

namespace spex {

void add_bias_and_activate(MatrixView y, const float* bias, Activation activation) {
  for (size_t r = 0; r < y.rows; ++r) {
    float* row = y.row(r);
    if (bias)
      for (size_t c = 0; c < y.cols; ++c) row[c] += bias[c];
    if (activation == Activation::relu)
      for (size_t c = 0; c < y.cols; ++c) row[c] = std::max(row[c], 0.0F);
  }
}

void mask_by_sign(MatrixView dy, ConstMatrixView y, float factor) {
  for (size_t r = 0; r < dy.rows; ++r) {
    float* __restrict d = dy.row(r);
    const float* __restrict out = y.row(r);
    for (size_t c = 0; c < dy.cols; ++c) {
      float whole = factor * d[c];  // read in any case: a conditional read would not become a vector
      d[c] = out[c] > 0.0F ? whole : 0.0F;
    }
  }
}

void check_linear(size_t inputs, const Var& weight, const Var& bias) {
  require(inputs == weight.rows(), "linear: {} columns meet a weight of {} rows", inputs,
          weight.rows());
  if (!bias.keep()) return;
  require(bias.rows() == 1 && bias.cols() == weight.cols(),
          "linear: a bias of {} x {} for {} outputs", bias.rows(), bias.cols(), weight.cols());
}

}  // namespace spex
