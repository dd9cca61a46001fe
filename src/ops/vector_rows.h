// Rows of any length in vectors, the last of which may be partly filled. Included by
// *.simd.cpp only.
#pragma once

#include "core/vectors.h"

namespace spex::SPEX_ISA {

inline constexpr float kInfinity = __builtin_inff();
inline constexpr size_t kStep = lanes<RowFloats>;

inline size_t numbers_from(size_t first, size_t count) {
  return count - first < kStep ? count - first : kStep;
}

// The next numbers of a row, `filler` behind its end.
inline RowFloats load_part(const float* from, size_t numbers, float filler) {
  if (numbers == kStep) return load<RowFloats>(from);
  RowFloats v = RowFloats{} + filler;
  for (size_t l = 0; l < numbers; ++l) v[l] = from[l];
  return v;
}

inline void store_part(float* to, RowFloats v, size_t numbers) {
  if (numbers == kStep) return store(to, v);
  for (size_t l = 0; l < numbers; ++l) to[l] = v[l];
}

inline void add_part(float* to, RowFloats v, size_t numbers) {
  store_part(to, load_part(to, numbers, 0.0F) + v, numbers);
}

inline float largest_lane(RowFloats v) {
  float largest = v[0];
  for (size_t l = 1; l < kStep; ++l) largest = v[l] > largest ? v[l] : largest;
  return largest;
}

inline float sum_of(RowFloats v) {
  float sum = 0.0F;
  for (size_t l = 0; l < kStep; ++l) sum += v[l];
  return sum;
}

inline float dot_row(const float* a, const float* b, size_t count) {
  RowFloats sums{};
  for (size_t i = 0; i < count; i += kStep) {
    size_t numbers = numbers_from(i, count);
    sums += load_part(a + i, numbers, 0.0F) * load_part(b + i, numbers, 0.0F);
  }
  return sum_of(sums);
}

// y += factor x
inline void add_row(float* y, const float* x, float factor, size_t count) {
  for (size_t i = 0; i < count; i += kStep) {
    size_t numbers = numbers_from(i, count);
    add_part(y + i, factor * load_part(x + i, numbers, 0.0F), numbers);
  }
}

}  // namespace spex::SPEX_ISA
