// Vectors of floats in the compiler's own notation, for kernels that gain nothing from intrinsics.
// Included by *.simd.cpp only: everything stands in the instruction set's own namespace.
#pragma once

#include <cstddef>

namespace spex::SPEX_ISA {

typedef float F4 __attribute__((vector_size(16)));
typedef float F8 __attribute__((vector_size(32)));
typedef float F16 __attribute__((vector_size(64)));

template <class V>
inline constexpr size_t lanes = sizeof(V) / sizeof(float);

template <class V>
using Integers = decltype(V{} < V{});

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

template <class V>
inline V clamp(V v, float bound) {
  v = v < -bound ? V{} - bound : v;
  return v > bound ? V{} + bound : v;
}

// exp for |x| <= 80, within 2 units in the last place: 2^n times a polynomial of the rest.
template <class V>
inline V exponential(V x) {
  const float round = 12582912.0F;  // 1.5 * 2^23: adding it rounds to the nearest integer
  V shifted = x * 1.44269504F + round;
  V n = shifted - round;
  V r = x - n * 0.693359375F;
  r = r + n * 2.12194440e-4F;
  V p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  Integers<V> exponent = __builtin_convertvector(n, Integers<V>) + 127;
  return p * (V)(exponent << 23);
}

}  // namespace spex::SPEX_ISA
