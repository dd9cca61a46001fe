// Which numbers dropout keeps: number i is kept when the 16 random bits at position i are below
// `threshold`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dispatch.h"

namespace spex {

// y = factor max(0, x) where kept, 0 elsewhere.
SPEX_KERNEL(void drop_relu(float* y, const float* x, const uint16_t* bits, uint32_t threshold,
                           float factor, size_t count))

// y = base + factor x where kept, base elsewhere; base may be null (zeros) or y itself, and x may
// be y.
SPEX_KERNEL(void drop(float* y, const float* base, const float* x, const uint16_t* bits,
                      uint32_t threshold, float factor, size_t count))

}  // namespace spex
