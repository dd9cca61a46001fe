// Rows of a table, picked by a list of ids.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dispatch.h"

namespace spex {

// products[n] = row . table[ids[n]], over `width` numbers; table rows stand `stride` apart.
SPEX_KERNEL(void gather_products(float* products, const float* row, const float* table,
                                 size_t stride, const uint32_t* ids, size_t count, size_t width))

// sum += weights[n] table[ids[n]]
SPEX_KERNEL(void gather_sum(float* sum, const float* weights, const float* table, size_t stride,
                            const uint32_t* ids, size_t count, size_t width))

}  // namespace spex
