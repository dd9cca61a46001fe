// The inner loops of the activations that need an exponential, on `count` numbers. y may be x.
#pragma once

#include <cstddef>

#include "core/dispatch.h"

namespace spex {

SPEX_KERNEL(void sigmoid_numbers(float* y, const float* x, size_t count))
SPEX_KERNEL(void elu_numbers(float* y, const float* x, size_t count))
SPEX_KERNEL(void gelu_numbers(float* y, const float* x, size_t count))

// dy becomes dx.
SPEX_KERNEL(void gelu_backward(float* dy, const float* x, size_t count))

}  // namespace spex
