// The inner loops of layer norm and of row normalisation, on packed rows of `cols` numbers.
#pragma once

#include <cstddef>

#include "core/dispatch.h"

namespace spex {

// How rows are laid on vectors of up to eight: rows of 1, 2 or 4 numbers share one vector, longer
// ones take several. Per-column arrays are repeated, or padded with zeros, to eights.
constexpr size_t row_group(size_t cols) {
  return cols == 1 || cols == 2 || cols == 4 ? 8 : cols;
}
constexpr size_t row_lanes(size_t cols) {
  return (row_group(cols) + 7) / 8 * 8;
}

SPEX_KERNEL(void layer_norm_rows(float* y, const float* x, const float* gain, const float* bias,
                                 float epsilon, size_t rows, size_t cols))
// dy becomes dx; dgain and dbias are added to.
SPEX_KERNEL(void layer_norm_rows_backward(float* dy, float* dgain, float* dbias, const float* x,
                                          const float* gain, float epsilon, size_t rows,
                                          size_t cols))

// y = s x / max(|x|, floor)
SPEX_KERNEL(void normalize_rows_forward(float* y, const float* x, float s, float floor, size_t rows,
                                        size_t cols))
// dy becomes dx. Returns ds.
SPEX_KERNEL(double normalize_rows_backward(float* dy, const float* x, float s, float floor,
                                           size_t rows, size_t cols))

}  // namespace spex
