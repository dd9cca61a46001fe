// Sixteen edges at a time, AVX-512. Rows p and p + 8 of a tile share registers: one holds the first
// vectors [x_p | x_p+8], one the second ones [y_p | y_p+8]. Three levels of shuffled additions turn
// eight such registers of products into the sixteen dot products, in this order of edges:
//
//   lane   0 1 2 3   4  5  6  7   8 9 10 11   12 13 14 15
//   edge   0 1 2 3   8  9 10 11   4 5  6  7   12 13 14 15
#include "ops/attention_narrow.h"

#include "ops/attention_lanes.h"
#include "ops/attention_pairs.h"

#ifdef __AVX512F__

#include <immintrin.h>

namespace spex::SPEX_ISA {
namespace {

constexpr size_t kRow = 16;        // floats of a packed row: eight of x, eight of y
constexpr EdgeOffset kAhead = 32;  // edges between asking for a row and using it

inline __m512i edge_of_lane() {
  return _mm512_setr_epi32(0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15);
}

// The lanes of edges p and p + 8, spread over the two halves of a register.
inline __m512i spread(int p) {
  int low = p < 4 ? p : p + 4;
  int high = low + 4;
  return _mm512_setr_epi32(low, low, low, low, low, low, low, low, high, high, high, high, high,
                           high, high, high);
}

inline __m512 join(const float* low, const float* high) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(low)), _mm256_loadu_ps(high), 1);
}

inline __m512 twice(const float* from) {
  return join(from, from);
}

// Sixteen dot products of eight-vectors: r[p] = [edge p | edge p + 8], each times a.
inline __m512 dot_products(const __m512* r, __m512 a) {
  __m512 m[8];
  for (int p = 0; p < 8; ++p) m[p] = _mm512_mul_ps(r[p], a);
  return half_sums(m);
}

struct NarrowTile {
  __m512 x[8], y[8];
  __mmask16 present;  // lanes that hold an edge

  NarrowTile(const AttentionView& view, EdgeOffset first, size_t count) {
    const NodeId* ids = view.pattern.neighbours + first;
    if (view.prefetch && first + kAhead + kTile <= view.pattern.edges)
      for (size_t e = 0; e < count; ++e)
        __builtin_prefetch(view.table.x + size_t{ids[kAhead + e]} * kRow);
    // Past the end the last edge stands in; its weight is masked.
    auto in_order = static_cast<__mmask16>((1U << count) - 1U);
    __m512i id =
        _mm512_mask_loadu_epi32(_mm512_set1_epi32(static_cast<int>(ids[count - 1])), in_order, ids);
    alignas(64) uint64_t at[kTile];  // offsets in floats
    _mm512_store_epi64(at, _mm512_slli_epi64(_mm512_cvtepu32_epi64(_mm512_castsi512_si256(id)), 4));
    _mm512_store_epi64(
        at + 8, _mm512_slli_epi64(_mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(id, 1)), 4));
    for (size_t p = 0; p < 8; ++p) {
      const float* low = view.table.x + at[p];
      const float* high = view.table.x + at[p + 8];
      x[p] = join(low, high);
      y[p] = join(low + 8, high + 8);
    }
    present = _mm512_cmplt_epi32_mask(edge_of_lane(), _mm512_set1_epi32(static_cast<int>(count)));
  }
};

// total += sum over edges of weight * row, the two halves of a register kept apart.
inline __m512 weighted_sum(__m512 total, const __m512* rows, __m512 weight) {
  for (int p = 0; p < 8; ++p)
    total = _mm512_fmadd_ps(_mm512_permutexvar_ps(spread(p), weight), rows[p], total);
  return total;
}

inline __m256 halves(__m512 v) {
  return _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
}

inline __m512 weights(const NarrowTile& tile, __m512 scores, float bias, float bound,
                      __mmask16* uncut) {
  __m512 x = _mm512_add_ps(scores, _mm512_set1_ps(bias));
  F16 bounded = clamp((F16)x, bound);
  *uncut = _mm512_mask_cmp_ps_mask(tile.present, x, (__m512)bounded, _CMP_EQ_OQ);
  return _mm512_maskz_mov_ps(tile.present, (__m512)exponential(bounded));
}

void forward_row(const AttentionForward& c, size_t row) {
  const AttentionView& v = c.view;
  EdgeOffset bounds[kMaxEdgeTypes + 1];
  row_bounds(v.pattern, row, bounds);
  __m512 out = _mm512_setzero_ps();
  __m512 sums = _mm512_setzero_ps();
  __m512 q = twice(c.q + row * 8);
  for (size_t t = 0; t < v.pattern.types; ++t) {
    __m512 a = _mm512_mul_ps(q, twice(v.mod + t * 8));
    for (EdgeOffset e = bounds[t]; e < bounds[t + 1]; e += kTile) {
      size_t left = bounds[t + 1] - e;
      NarrowTile tile(v, e, left < kTile ? left : kTile);
      __mmask16 uncut;
      __m512 w = weights(tile, dot_products(tile.x, a), v.bias[t], v.clamp, &uncut);
      sums = _mm512_add_ps(sums, w);
      out = weighted_sum(out, tile.y, w);
    }
  }
  float inverse = 1.0F / (_mm512_reduce_add_ps(sums) + kSoftmaxEpsilon);
  c.inverse_sum[row] = inverse;
  _mm256_storeu_ps(c.out + row * 8, _mm256_mul_ps(halves(out), _mm256_set1_ps(inverse)));
}

inline __m512 deltas(const AttentionBackward& c, size_t row, EdgeOffset first, __mmask16 present) {
  if (!c.key_side) return _mm512_set1_ps(c.delta[row]);
  __mmask16 in_order = static_cast<__mmask16>((1U << __builtin_popcount(present)) - 1U);
  __m512i ids = _mm512_maskz_loadu_epi32(in_order, c.view.pattern.neighbours + first);
  return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), present,
                                  _mm512_permutexvar_epi32(edge_of_lane(), ids), c.delta, 4);
}

void backward_row(const AttentionBackward& c, size_t row) {
  const AttentionView& v = c.view;
  EdgeOffset bounds[kMaxEdgeTypes + 1];
  row_bounds(v.pattern, row, bounds);
  __m512 row_x = twice(c.row_x + row * 8);
  __m512 row_y = twice(c.row_y + row * 8);
  __m512 dx = _mm512_setzero_ps();
  __m512 dy = _mm512_setzero_ps();
  for (size_t t = 0; t < v.pattern.types; ++t) {
    if (bounds[t] == bounds[t + 1]) continue;
    __m512 mod = twice(v.mod + t * 8);
    __m512 a = _mm512_mul_ps(row_x, mod);
    __m512 da = _mm512_setzero_ps();
    __m512 bias_sum = _mm512_setzero_ps();
    for (EdgeOffset e = bounds[t]; e < bounds[t + 1]; e += kTile) {
      size_t left = bounds[t + 1] - e;
      NarrowTile tile(v, e, left < kTile ? left : kTile);
      __mmask16 uncut;
      __m512 w = weights(tile, dot_products(tile.x, a), v.bias[t], v.clamp, &uncut);
      __m512 u = _mm512_sub_ps(dot_products(tile.y, row_y), deltas(c, row, e, tile.present));
      __m512 ds = _mm512_maskz_mul_ps(uncut, w, u);
      da = weighted_sum(da, tile.x, ds);
      if (c.key_side)
        dy = weighted_sum(dy, tile.y, w);
      else
        bias_sum = _mm512_add_ps(bias_sum, ds);
    }
    dx = _mm512_fmadd_ps(da, mod, dx);
    if (c.key_side) continue;
    c.dbias[t] += _mm512_reduce_add_ps(bias_sum);
    float* dmod = c.dmod + t * 8;
    __m256 part = _mm256_mul_ps(halves(da), _mm512_castps512_ps256(row_x));
    _mm256_storeu_ps(dmod, _mm256_add_ps(_mm256_loadu_ps(dmod), part));
  }
  _mm256_storeu_ps(c.dx + row * 8, halves(dx));
  if (c.key_side) _mm256_storeu_ps(c.dy + row * 8, halves(dy));
}

}  // namespace

void narrow_forward(const AttentionForward& c, size_t begin, size_t end) {
  for (size_t row = begin; row < end; ++row) forward_row(c, row);
}

void narrow_backward(const AttentionBackward& c, size_t begin, size_t end) {
  for (size_t row = begin; row < end; ++row) backward_row(c, row);
}

}  // namespace spex::SPEX_ISA

#endif
