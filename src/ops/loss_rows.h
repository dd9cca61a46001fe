// The inner loops of the losses: the terms of one row of logits z and, unless dz is null, their
// derivatives times `scale`, added to dz.
#pragma once

#include <cstddef>

#include "core/dispatch.h"

namespace spex {

// log sum exp(z) is largest + log(sum).
struct LogSum {
  float largest, sum;
};

// Of a log sum exp(z): the derivatives are softmax(z).
SPEX_KERNEL(LogSum softmax_row(float* dz, const float* z, float scale, size_t count))

struct LossTerms {
  float loss;
  size_t present;
};

// Of -t log(sigmoid(z)) - (1 - t) log(1 - sigmoid(z)), summed over the targets that are not NaN.
SPEX_KERNEL(LossTerms logistic_row(float* dz, const float* z, const float* targets, float scale,
                                   size_t count))

}  // namespace spex
