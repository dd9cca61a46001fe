// Both kernels run over the dense side in strips of columns that fit the registers: 64 numbers
// where the width allows, then 32, 16, 8, 4, 1.
#include "ops/sparse_kernels.h"

namespace spex::SPEX_ISA {
namespace {

// Spelled out one by one: GCC drops the attributes when the size depends on a template parameter.
template <int Size>
struct Strip;
template <>
struct Strip<16> {
  using Vec = float __attribute__((vector_size(64), aligned(4), may_alias));
};
template <>
struct Strip<8> {
  using Vec = float __attribute__((vector_size(32), aligned(4), may_alias));
};
template <>
struct Strip<4> {
  using Vec = float __attribute__((vector_size(16), aligned(4), may_alias));
};
template <>
struct Strip<1> {
  using Vec = float;
};

constexpr uint64_t kAhead = 16;  // entries whose dense rows are fetched ahead of their use

// Calls run<Size, Count>(first column): a strip of Count vectors of Size numbers, widest first.
template <class Run>
inline void for_strips(size_t width, Run&& run) {
  size_t at = 0;
  for (; at + 64 <= width; at += 64) run.template operator()<16, 4>(at);
  if (at + 32 <= width) run.template operator()<16, 2>(at), at += 32;
  if (at + 16 <= width) run.template operator()<16, 1>(at), at += 16;
  if (at + 8 <= width) run.template operator()<8, 1>(at), at += 8;
  if (at + 4 <= width) run.template operator()<4, 1>(at), at += 4;
  for (; at < width; ++at) run.template operator()<1, 1>(at);
}

enum class Weight { ones, values, columns };

template <Weight W, int Size, int Count>
inline void product_strip(float* y, const SparseRows& a, const float* x, size_t width, size_t row,
                          bool add) {
  using Vec = typename Strip<Size>::Vec;
  Vec sum[Count] = {};
  uint64_t last = a.offsets[a.rows];
  for (uint64_t e = a.offsets[row]; e < a.offsets[row + 1]; ++e) {
    if (e + kAhead < last)
      for (int k = 0; k < Count; ++k)
        __builtin_prefetch(x + a.columns[e + kAhead] * width + k * Size);
    auto* from = reinterpret_cast<const Vec*>(x + a.columns[e] * width);
    float weight = W == Weight::values    ? a.values[e]
                   : W == Weight::columns ? a.column_scale[a.columns[e]]
                                          : 1.0F;
    for (int k = 0; k < Count; ++k) sum[k] += weight * from[k];
  }
  float scale = a.row_scale ? a.row_scale[row] : 1.0F;
  auto* to = reinterpret_cast<Vec*>(y + row * width);
  for (int k = 0; k < Count; ++k) to[k] = add ? to[k] + scale * sum[k] : scale * sum[k];
}

template <Weight W>
inline void product_rows(float* y, const SparseRows& a, const float* x, size_t width, size_t begin,
                         size_t end, bool add) {
  for (size_t row = begin; row < end; ++row)
    for_strips(width, [&]<int Size, int Count>(size_t at) {
      product_strip<W, Size, Count>(y + at, a, x + at, width, row, add);
    });
}

// The first entry of row `row` whose column is at least `column`.
inline uint64_t lower_bound(const SparseRows& a, size_t row, uint32_t column) {
  uint64_t low = a.offsets[row], high = a.offsets[row + 1];
  while (low < high) {
    uint64_t middle = (low + high) / 2;
    if (a.columns[middle] < column)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace

void sparse_product(float* y, const SparseRows& a, const float* x, size_t width, size_t begin,
                    size_t end, bool add) {
  if (a.values) return product_rows<Weight::values>(y, a, x, width, begin, end, add);
  if (a.column_scale) return product_rows<Weight::columns>(y, a, x, width, begin, end, add);
  product_rows<Weight::ones>(y, a, x, width, begin, end, add);
}

void sparse_transposed_product(float* out, const SparseRows& a, const float* dy, size_t width,
                               uint32_t first, uint32_t last) {
  for (size_t row = 0; row < a.rows; ++row) {
    uint64_t begin = lower_bound(a, row, first);
    for_strips(width, [&]<int Size, int Count>(size_t at) {
      using Vec = typename Strip<Size>::Vec;
      Vec d[Count];
      for (int k = 0; k < Count; ++k) d[k] = reinterpret_cast<const Vec*>(dy + row * width + at)[k];
      for (uint64_t e = begin; e < a.offsets[row + 1] && a.columns[e] < last; ++e) {
        auto* to = reinterpret_cast<Vec*>(out + a.columns[e] * width + at);
        for (int k = 0; k < Count; ++k) to[k] += a.values[e] * d[k];
      }
    });
  }
}

}  // namespace spex::SPEX_ISA
