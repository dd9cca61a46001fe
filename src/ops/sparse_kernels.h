// Products with a sparse matrix in compressed rows, on packed dense matrices of `width` columns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dispatch.h"

namespace spex {

// Entry e has column columns[e] and the value values[e].
struct SparseRows {
  const uint64_t* offsets = nullptr;
  const uint32_t* columns = nullptr;
  const float* values = nullptr;
  size_t rows = 0;
};

// y[r] = A[r] x for the rows [begin, end).
SPEX_KERNEL(void sparse_product(float* y, const SparseRows& a, const float* x, size_t width,
                                size_t begin, size_t end))

// out[c] += sum over all rows r, in order, of A[r, c] dy[r], for the columns c in [first, last).
// Columns must ascend within a row.
SPEX_KERNEL(void sparse_transposed_product(float* out, const SparseRows& a, const float* dy,
                                           size_t width, uint32_t first, uint32_t last))

}  // namespace spex
