// Small vectors for the attention kernels, in the compiler's own vector notation. Included by
// *.simd.cpp only: everything stands in the instruction set's own namespace.
#pragma once

#include <cstddef>

#include "ops/attention_kernels.h"

namespace spex::SPEX_ISA {

typedef float F4 __attribute__((vector_size(16)));
typedef float F8 __attribute__((vector_size(32)));
typedef float F16 __attribute__((vector_size(64)));
typedef int I16 __attribute__((vector_size(64)));

inline constexpr size_t kTile = 16;  // edges whose weights are computed together

template <class V>
inline constexpr size_t lanes = sizeof(V) / sizeof(float);

template <class V>
inline V load(const float* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof(V));
  return v;
}

template <class V>
inline void store(float* to, V v) {
  __builtin_memcpy(to, &v, sizeof(V));
}

inline float sum(F4 v) {
  F4 pairs = v + __builtin_shufflevector(v, v, 2, 3, 0, 1);
  return pairs[0] + pairs[1];
}

// The sums of four vectors at once, by shuffled additions: cheaper than four separate sums.
inline F4 sums(F8 a, F8 b, F8 c, F8 d) {
  F8 ab = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13) +
          __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
  F8 cd = __builtin_shufflevector(c, d, 0, 8, 1, 9, 4, 12, 5, 13) +
          __builtin_shufflevector(c, d, 2, 10, 3, 11, 6, 14, 7, 15);
  F8 abcd = __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) +
            __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
  return __builtin_shufflevector(abcd, abcd, 0, 1, 2, 3) +
         __builtin_shufflevector(abcd, abcd, 4, 5, 6, 7);
}
inline F8 fold(F16 v) {
  return __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
         __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
}
inline F4 sums(F16 a, F16 b, F16 c, F16 d) {
  return sums(fold(a), fold(b), fold(c), fold(d));
}
inline F4 sums(F4 a, F4 b, F4 c, F4 d) {
  return F4{sum(a), sum(b), sum(c), sum(d)};
}

inline F16 clamp(F16 v, float bound) {
  v = v < -bound ? F16{} - bound : v;
  return v > bound ? F16{} + bound : v;
}

// exp for |x| <= 80, within 2 units in the last place: 2^n times a polynomial of the rest.
inline F16 exponential(F16 x) {
  const float round = 12582912.0F;  // 1.5 * 2^23: adding it rounds to the nearest integer
  F16 shifted = x * 1.44269504F + round;
  F16 n = shifted - round;
  F16 r = x - n * 0.693359375F;
  r = r + n * 2.12194440e-4F;
  F16 p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  I16 exponent = __builtin_convertvector(n, I16) + 127;
  return p * (F16)(exponent << 23);
}

// Where each type's neighbours of a row begin: bounds[t] .. bounds[t + 1].
inline void row_bounds(const PatternView& p, size_t row, EdgeOffset* bounds) {
  if (p.offsets) {
    bounds[0] = p.offsets[row];
    for (size_t t = 0; t + 1 < p.types; ++t) bounds[t + 1] = p.ends[t * p.rows + row];
    bounds[p.types] = p.offsets[row + 1];
  } else {
    bounds[0] = row * p.k;
    for (size_t t = 0; t < p.types; ++t) bounds[t + 1] = row * p.k + p.counts[t * p.rows + row];
  }
}

// to = a * b, over a whole row.
template <class V>
inline void multiply(float* to, const float* a, const float* b, size_t count) {
  for (size_t c = 0; c < count; c += lanes<V>) store(to + c, load<V>(a + c) * load<V>(b + c));
}

// to += a * b.
template <class V>
inline void multiply_add(float* to, const float* a, const float* b, size_t count) {
  for (size_t c = 0; c < count; c += lanes<V>)
    store(to + c, load<V>(to + c) + load<V>(a + c) * load<V>(b + c));
}

template <class V>
inline void clear(float* to, size_t count) {
  for (size_t c = 0; c < count; c += lanes<V>) store(to + c, V{});
}

}  // namespace spex::SPEX_ISA
