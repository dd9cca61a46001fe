// Both kernels run over the dense side in strips of columns that fit the registers: eight vectors
// where the width allows, then four, two, one, then single columns.
#include "ops/sparse_kernels.h"

#include "core/vectors.h"

namespace spex::SPEX_ISA {
namespace {

constexpr uint64_t kAhead = 16;  // entries whose dense rows are fetched ahead of their use

// Calls run<V, Count>(first column): a strip of Count vectors V, widest first.
template <class Run>
inline void for_strips(size_t width, Run&& run) {
  size_t at = 0;
  for (; at + 8 * kLanes <= width; at += 8 * kLanes) run.template operator()<Floats, 8>(at);
  if (at + 4 * kLanes <= width) run.template operator()<Floats, 4>(at), at += 4 * kLanes;
  if (at + 2 * kLanes <= width) run.template operator()<Floats, 2>(at), at += 2 * kLanes;
  if (at + kLanes <= width) run.template operator()<Floats, 1>(at), at += kLanes;
#if defined(__AVX512F__)
  if (at + 8 <= width) run.template operator()<F8, 1>(at), at += 8;
#endif
#if defined(__AVX2__)
  if (at + 4 <= width) run.template operator()<F4, 1>(at), at += 4;
#endif
  for (; at < width; ++at) run.template operator()<float, 1>(at);
}

template <class V, size_t Count>
inline void product_strip(float* y, const SparseRows& a, const float* x, size_t width, size_t row) {
  constexpr size_t kStep = sizeof(V) / sizeof(float);
  V sum[Count] = {};
  uint64_t last = a.offsets[a.rows];
  for (uint64_t e = a.offsets[row]; e < a.offsets[row + 1]; ++e) {
    if (e + kAhead < last)
      for (size_t c = 0; c < Count * kStep; c += 16)
        __builtin_prefetch(x + a.columns[e + kAhead] * width + c);
    const float* from = x + a.columns[e] * width;
    for (size_t k = 0; k < Count; ++k) sum[k] += a.values[e] * load<V>(from + k * kStep);
  }
  for (size_t k = 0; k < Count; ++k) store(y + row * width + k * kStep, sum[k]);
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
                    size_t end) {
  for (size_t row = begin; row < end; ++row)
    for_strips(width, [&]<class V, size_t Count>(size_t at) {
      product_strip<V, Count>(y + at, a, x + at, width, row);
    });
}

void sparse_transposed_product(float* out, const SparseRows& a, const float* dy, size_t width,
                               uint32_t first, uint32_t last) {
  for (size_t row = 0; row < a.rows; ++row) {
    uint64_t begin = lower_bound(a, row, first);
    for_strips(width, [&]<class V, size_t Count>(size_t at) {
      constexpr size_t kStep = sizeof(V) / sizeof(float);
      V d[Count];
      for (size_t k = 0; k < Count; ++k) d[k] = load<V>(dy + row * width + at + k * kStep);
      for (uint64_t e = begin; e < a.offsets[row + 1] && a.columns[e] < last; ++e) {
        float* to = out + a.columns[e] * width + at;
        for (size_t k = 0; k < Count; ++k)
          store(to + k * kStep, load<V>(to + k * kStep) + a.values[e] * d[k]);
      }
    });
  }
}

}  // namespace spex::SPEX_ISA
