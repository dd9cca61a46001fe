// What the attention kernels share. Included by *.simd.cpp only, as vectors.h.
#pragma once

#include <cstddef>

#include "ops/attention_kernels.h"
#include "ops/vectors.h"

namespace spex::SPEX_ISA {

inline constexpr size_t kTile = 16;  // edges whose weights are computed together

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
