// The inner loops of columns.h. Arrays of `count` numbers are cut into tiles of `tile`; the last
// one may be shorter. Per-column arrays have `tile` entries.
#pragma once

#include <cstddef>

#include "core/dispatch.h"

namespace spex {

SPEX_KERNEL(void tile_sums(float* sum, const float* x, size_t count, size_t tile))
SPEX_KERNEL(void tile_moments(float* sum, float* squares, const float* x, const float* center,
                              size_t count, size_t tile))
SPEX_KERNEL(void tile_dots(float* sum, float* dot, const float* dy, const float* x,
                           const float* center, size_t count, size_t tile))
SPEX_KERNEL(void tile_map(float* y, const float* x, const float* center, const float* factor,
                          const float* shift, size_t count, size_t tile))
SPEX_KERNEL(void tile_backward(float* dy, const float* x, const float* center, const float* p,
                               const float* q, const float* r, size_t count, size_t tile))

}  // namespace spex
