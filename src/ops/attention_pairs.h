// Heads of eight, two to a register (AVX-512): the width that the paper's medium networks use.
// Replaces the general dot products and weighted sums of attention_wide.simd.cpp by ones without
// shuffled leftovers.
#pragma once

#ifdef __AVX512F__

#include <immintrin.h>

#include "ops/attention_lanes.h"

namespace spex::SPEX_ISA {

inline __m512 add_pairs(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
}

inline __m512 add_quads(__m512 a, __m512 b) {
  __m512d x = _mm512_castps_pd(a), y = _mm512_castps_pd(b);
  return _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)),
                       _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
}

// The sums of the lower and of the upper eight lanes of eight registers: sixteen numbers, in this
// order:
//   lane   0 .. 3       4 .. 7       8 .. 11      12 .. 15
//   of     m0-m3 lower  m0-m3 upper  m4-m7 lower  m4-m7 upper
inline __m512 half_sums(const __m512* m) {
  __m512 low = add_quads(add_pairs(m[0], m[1]), add_pairs(m[2], m[3]));
  __m512 high = add_quads(add_pairs(m[4], m[5]), add_pairs(m[6], m[7]));
  return _mm512_add_ps(_mm512_shuffle_f32x4(low, high, 0x88),
                       _mm512_shuffle_f32x4(low, high, 0xDD));
}

// The same, as m0 lower, m0 upper, m1 lower, m1 upper ...
inline __m512 half_sums_in_order(const __m512* m) {
  return _mm512_permutexvar_ps(
      _mm512_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15), half_sums(m));
}

// to[e][h] = a_e,h . row_e,h for an even number of heads of eight. Writes whole groups of sixteen.
inline void dots_of_pairs(float* to, const float* const* a, const float* const* rows, size_t heads,
                          size_t count) {
  size_t pairs = heads / 2;
  __m512 m[8];
  size_t filled = 0;
  for (size_t e = 0; e < count; ++e)
    for (size_t p = 0; p < pairs; ++p) {
      m[filled++] =
          _mm512_mul_ps(_mm512_loadu_ps(a[e] + 16 * p), _mm512_loadu_ps(rows[e] + 16 * p));
      if (filled < 8) continue;
      _mm512_storeu_ps(to, half_sums_in_order(m));
      to += 16;
      filled = 0;
    }
  if (filled == 0) return;
  while (filled < 8) m[filled++] = _mm512_setzero_ps();
  _mm512_storeu_ps(to, half_sums_in_order(m));
}

// to_h += sum over edges [begin, end) of w[e][h] row_e,h
inline void weighted_sum_of_pairs(float* to, const float* w, const float* const* rows, size_t heads,
                                  size_t begin, size_t end) {
  for (size_t p = 0; p < heads / 2; ++p) {
    __m512 part = _mm512_setzero_ps();
    for (size_t e = begin; e < end; ++e) {
      const float* weight = w + e * heads + 2 * p;
      __m512 both =
          _mm512_mask_mov_ps(_mm512_set1_ps(weight[0]), 0xFF00, _mm512_set1_ps(weight[1]));
      part = _mm512_fmadd_ps(both, _mm512_loadu_ps(rows[e] + 16 * p), part);
    }
    _mm512_storeu_ps(to + 16 * p, _mm512_add_ps(_mm512_loadu_ps(to + 16 * p), part));
  }
}

}  // namespace spex::SPEX_ISA

#endif
