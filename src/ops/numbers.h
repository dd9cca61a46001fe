// Loops over all numbers of a packed matrix, or over its columns, in fixed blocks: the same bytes
// for any number of threads.
#pragma once

#include <spex/core/threads.h>
#include <spex/tensor/matrix.h>

#include <algorithm>

namespace spex {

inline constexpr size_t kNumbersPerBlock = 32768;  // a few caches full

// out[i] = value(i), over flat arrays.
template <class Value>
void for_numbers(float* out, size_t count, Value&& value) {
  parallel_for(count, kNumbersPerBlock, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) out[i] = value(i);
  });
}

// y[i] = value(x[i], i). x may be y itself, which is said to the compiler: it would else compute
// number by number there.
template <class Value>
void map_numbers(Matrix& y, const float* x, Value&& value) {
  float* out = y.data();
  if (out == x)
    for_numbers(out, y.size(), [&](size_t i) { return value(out[i], i); });
  else
    for_numbers(out, y.size(), [&](size_t i) { return value(x[i], i); });
}

// out[r C + c] = value(r C + c, c), over a flat array of `rows` rows of C numbers.
template <class Value>
void for_columns(float* out, size_t rows, size_t cols, Value&& value) {
  size_t block = std::max<size_t>(1, kNumbersPerBlock / std::max<size_t>(1, cols));
  parallel_for(rows, block, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r)
      for (size_t c = 0; c < cols; ++c) out[r * cols + c] = value(r * cols + c, c);
  });
}

// y[r C + c] = value(x[r C + c], c); x may be y itself.
template <class Value>
void map_columns(Matrix& y, const float* x, Value&& value) {
  float* out = y.data();
  if (out == x)
    for_columns(out, y.rows(), y.cols(), [&](size_t i, size_t c) { return value(out[i], c); });
  else
    for_columns(out, y.rows(), y.cols(), [&](size_t i, size_t c) { return value(x[i], c); });
}

}  // namespace spex
