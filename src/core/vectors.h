// Vectors in the compiler's own notation, which becomes whatever instructions the set has. Floats,
// Ints and Longs are the widest that are native: 512 bits with AVX-512, 256 with AVX2, else 128
// (every 64-bit x86 and ARM). F4, F8 and F16 are for what has such a width by itself, where it is
// native: wider vectors than the machine's become piecewise code on the stack, which the build
// refuses (-Werror=vector-operation-performance).
// Included by *.simd.cpp only: everything stands in the instruction set's own namespace.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace spex::SPEX_ISA {

#if defined(__AVX512F__)
inline constexpr size_t kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr size_t kVectorBytes = 32;
#else
inline constexpr size_t kVectorBytes = 16;
#endif

typedef float Floats __attribute__((vector_size(kVectorBytes)));
typedef int32_t Ints __attribute__((vector_size(kVectorBytes)));
typedef uint64_t Longs __attribute__((vector_size(kVectorBytes)));
inline constexpr size_t kLanes = kVectorBytes / sizeof(float);

typedef float F4 __attribute__((vector_size(16)));
typedef float F8 __attribute__((vector_size(32)));
typedef float F16 __attribute__((vector_size(64)));

// For short rows: at most eight lanes, so that a row of a few numbers wastes little.
#if defined(__AVX2__)
using RowFloats = F8;
#else
using RowFloats = F4;
#endif

template <class V>
inline constexpr size_t lanes = sizeof(V) / sizeof(V{}[0]);

template <class V>
using Integers = decltype(V{} < V{});

template <class V>
inline V load(const void* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof(V));
  return v;
}

template <class V>
inline void store(void* to, V v) {
  __builtin_memcpy(to, &v, sizeof(V));
}

// 0, 1, 2, ...
template <class V = Ints>
inline V lane_numbers() {
  V v;
  for (size_t l = 0; l < lanes<V>; ++l) v[l] = static_cast<decltype(v[0] + 0)>(l);
  return v;
}

// The smaller and the larger number of each lane; v where v is not a number. GCC makes the minimum
// of x86 out of neither notation.
#if defined(__x86_64__)
inline F4 smaller(F4 bound, F4 v) {
  return _mm_min_ps(bound, v);
}
inline F4 larger(F4 bound, F4 v) {
  return _mm_max_ps(bound, v);
}
#endif
#if defined(__AVX2__)
inline F8 smaller(F8 bound, F8 v) {
  return _mm256_min_ps(bound, v);
}
inline F8 larger(F8 bound, F8 v) {
  return _mm256_max_ps(bound, v);
}
#endif
#if defined(__AVX512F__)
inline F16 smaller(F16 bound, F16 v) {
  return _mm512_maskz_min_ps(0xFFFF, bound, v);
}
inline F16 larger(F16 bound, F16 v) {
  return _mm512_maskz_max_ps(0xFFFF, bound, v);
}
#endif
#if !defined(__x86_64__)
inline F4 smaller(F4 bound, F4 v) {
  return bound < v ? bound : v;
}
inline F4 larger(F4 bound, F4 v) {
  return bound > v ? bound : v;
}
#endif

template <class V>
inline V clamp(V v, float bound) {
  return smaller(V{} + bound, larger(V{} - bound, v));
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
