#include "ops/gather_kernels.h"

#include "ops/vector_rows.h"

namespace spex::SPEX_ISA {

void gather_products(float* products, const float* row, const float* table, size_t stride,
                     const uint32_t* ids, size_t count, size_t width) {
  for (size_t n = 0; n < count; ++n) products[n] = dot_row(row, table + ids[n] * stride, width);
}

void gather_sum(float* sum, const float* weights, const float* table, size_t stride,
                const uint32_t* ids, size_t count, size_t width) {
  for (size_t n = 0; n < count; ++n) add_row(sum, table + ids[n] * stride, weights[n], width);
}

}  // namespace spex::SPEX_ISA
