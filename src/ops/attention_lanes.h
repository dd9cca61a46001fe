// What the attention kernels share. Included by *.simd.cpp only, as vectors.h.
#pragma once

#include "core/vectors.h"
#include "ops/attention_kernels.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace spex::SPEX_ISA {

// Sums by shuffled additions, in every group of four lanes: add_pairs halves the summands of two
// vectors, add_quads those of two of its results, in the order a b c d.
inline F4 add_pairs(F4 a, F4 b) {
  return __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
}
inline F4 add_quads(F4 ab, F4 cd) {
  return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

#if defined(__AVX2__)
inline F8 add_pairs(F8 a, F8 b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13) +
         __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
}
inline F8 add_quads(F8 ab, F8 cd) {
  return __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) +
         __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
}
// The halves of a, added, in the lower half; those of b in the upper. By name, since GCC makes a
// shuffle of the blend, and shuffles are what this is short of.
inline F8 add_halves(F8 a, F8 b) {
  return _mm256_add_ps(_mm256_blend_ps(a, b, 0xF0), _mm256_permute2f128_ps(a, b, 0x21));
}
#endif

// The sums of as many vectors as a vector has lanes, in their order: cheaper than one by one.
[[gnu::always_inline]] inline F4 sums_of(const F4* v) {
  return add_quads(add_pairs(v[0], v[1]), add_pairs(v[2], v[3]));
}
#if defined(__AVX2__)
[[gnu::always_inline]] inline F8 sums_of(const F8* v) {
  return add_quads(add_pairs(add_halves(v[0], v[4]), add_halves(v[1], v[5])),
                   add_pairs(add_halves(v[2], v[6]), add_halves(v[3], v[7])));
}
#endif

// Where each type's neighbours of a row begin: bounds[t] .. bounds[t + 1].
inline void row_bounds(const PatternView& p, size_t row, EdgeOffset* bounds) {
  if (p.offsets) {
    size_t node = p.chosen ? p.chosen[row] : row;
    bounds[0] = p.offsets[node];
    for (size_t t = 0; t + 1 < p.types; ++t) {
      const EdgeOffset* end = p.ends + t * p.nodes + node;
      bounds[t + 1] = *end;
      __builtin_prefetch(end + 16);  // as in ask_ahead
    }
    bounds[p.types] = p.offsets[node + 1];
  } else {
    bounds[0] = row * p.k;
    for (size_t t = 0; t < p.types; ++t) bounds[t + 1] = row * p.k + p.counts[t * p.nodes + row];
  }
}

// Asks for a row a little further on of a table that is walked in order. The processor's own
// prefetching does not keep up beside the random rows that are asked for.
inline void ask_ahead(const float* row, size_t stride, size_t width) {
  constexpr size_t kRowsAhead = 4;
  const float* later = row + kRowsAhead * stride;
  for (size_t c = 0; c < width; c += 16) __builtin_prefetch(later + c);
}

}  // namespace spex::SPEX_ISA
