#include "ops/column_kernels.h"

namespace spex::SPEX_ISA {
namespace {

// Calls body(offset, length) for each tile.
template <class Body>
inline void for_tiles(size_t count, size_t tile, Body&& body) {
  size_t begin = 0;
  for (; begin + tile <= count; begin += tile) body(begin, tile);
  if (begin < count) body(begin, count - begin);
}

}  // namespace

void tile_sums(float* __restrict sum, const float* __restrict x, size_t count, size_t tile) {
  for_tiles(count, tile, [&](size_t begin, size_t n) {
    for (size_t j = 0; j < n; ++j) sum[j] += x[begin + j];
  });
}

void tile_moments(float* __restrict sum, float* __restrict squares, const float* __restrict x,
                  const float* __restrict center, size_t count, size_t tile) {
  for_tiles(count, tile, [&](size_t begin, size_t n) {
    for (size_t j = 0; j < n; ++j) {
      float d = x[begin + j] - center[j];
      sum[j] += d;
      squares[j] += d * d;
    }
  });
}

void tile_dots(float* __restrict sum, float* __restrict dot, const float* __restrict dy,
               const float* __restrict x, const float* __restrict center, size_t count,
               size_t tile) {
  for_tiles(count, tile, [&](size_t begin, size_t n) {
    for (size_t j = 0; j < n; ++j) {
      sum[j] += dy[begin + j];
      dot[j] += dy[begin + j] * (x[begin + j] - center[j]);
    }
  });
}

void tile_map(float* __restrict y, const float* __restrict x, const float* __restrict center,
              const float* __restrict factor, const float* __restrict shift, size_t count,
              size_t tile) {
  for_tiles(count, tile, [&](size_t begin, size_t n) {
    for (size_t j = 0; j < n; ++j) y[begin + j] = factor[j] * (x[begin + j] - center[j]) + shift[j];
  });
}

void tile_backward(float* __restrict dy, const float* __restrict x, const float* __restrict center,
                   const float* __restrict p, const float* __restrict q, const float* __restrict r,
                   size_t count, size_t tile) {
  for_tiles(count, tile, [&](size_t begin, size_t n) {
    for (size_t j = 0; j < n; ++j)
      dy[begin + j] = p[j] * dy[begin + j] + q[j] * (x[begin + j] - center[j]) + r[j];
  });
}

}  // namespace spex::SPEX_ISA
