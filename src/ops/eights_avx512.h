// Heads of eight features where a vector holds sixteen floats: a register has two heads of an edge
// or, with a single head, two edges. What attention_eights.simd.cpp is made of; see there.
//
// A tile holds eight registers of the neighbours' first vectors and eight of their second ones.
// Three levels of shuffled additions turn eight registers of products into the sixteen dot products
// of their halves, in this order:
//
//   lane         0 .. 3   4 .. 7   8 .. 11   12 .. 15
//   register     0 .. 3   0 .. 3   4 .. 7    4 .. 7
//   half of it   lower    upper    lower     upper
#pragma once

#include <immintrin.h>

#include "ops/attention_lanes.h"

namespace spex::SPEX_ISA {

using Mask = __mmask16;

inline Floats where(Mask mask, Floats v) {
  return _mm512_maskz_mov_ps(mask, v);
}
inline Floats choose(Mask mask, Floats a, Floats b) {
  return _mm512_mask_mov_ps(b, mask, a);
}
inline Mask equal(Floats a, Floats b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}
inline Mask unless(Mask mask) {
  return static_cast<Mask>(~mask);
}

struct LaneTable {
  alignas(64) int of[16];
  __m512i load() const { return _mm512_load_si512(of); }
};

// A row has registers of two heads each; that of one head is half a register ("packed").
template <size_t H>
struct Eights {
  static constexpr bool packed = H == 1;
  static constexpr size_t registers = packed ? 1 : H / 2;
  static constexpr size_t heads = H;
  static constexpr size_t floats = 8 * H;
  static constexpr size_t edges = 16 / H;                    // of a tile
  static constexpr EdgeOffset ahead = packed ? 32 : 48 / H;  // from asking for a row to using it

  // Register p of a tile belongs to this edge (packed: to this one and the one eight further)...
  static constexpr size_t edge(size_t p) { return packed ? p : p % edges; }
  // ... and meets this register of the row's own vector.
  static constexpr size_t own(size_t p) { return packed ? 0 : p / edges; }

  static constexpr LaneTable edge_of_lane() {
    LaneTable table{};
    for (size_t lane = 0; lane < 16; ++lane)
      table.of[lane] =
          static_cast<int>(edge(lane / 8 * 4 + lane % 4) + (packed && lane % 8 >= 4 ? 8 : 0));
    return table;
  }
  static constexpr LaneTable head_of_lane() {
    LaneTable table{};
    for (size_t lane = 0; lane < 16; ++lane)
      table.of[lane] =
          packed ? 0 : static_cast<int>(2 * own(lane / 8 * 4 + lane % 4) + lane % 8 / 4);
    return table;
  }
  // A lane of each head; those behind the last head are not used.
  static constexpr LaneTable lane_of_head() {
    LaneTable table{};
    for (int lane = 15; lane >= 0; --lane) table.of[head_of_lane().of[lane]] = lane;
    return table;
  }
  static constexpr LaneTable kEdge = edge_of_lane();
  static constexpr LaneTable kHead = head_of_lane();
  static constexpr LaneTable kLane = lane_of_head();
};

inline __m512 add_pairs(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
}

inline __m512 add_quads(__m512 a, __m512 b) {
  __m512d x = _mm512_castps_pd(a), y = _mm512_castps_pd(b);
  return _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)),
                       _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
}

inline __m512 half_sums(const __m512* m) {
  __m512 low = add_quads(add_pairs(m[0], m[1]), add_pairs(m[2], m[3]));
  __m512 high = add_quads(add_pairs(m[4], m[5]), add_pairs(m[6], m[7]));
  return _mm512_add_ps(_mm512_shuffle_f32x4(low, high, 0x88),
                       _mm512_shuffle_f32x4(low, high, 0xDD));
}

// The lanes of register p's two halves, each spread over its half.
inline __m512i spread(int p) {
  int low = p < 4 ? p : p + 4;
  int high = low + 4;
  return _mm512_setr_epi32(low, low, low, low, low, low, low, low, high, high, high, high, high,
                           high, high, high);
}

inline __m512 join(const float* low, const float* high) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(low)), _mm256_loadu_ps(high), 1);
}

inline __m256 halves(__m512 v) {
  return _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
}

// A row of a node's own, or of a type's coefficients.
template <size_t H>
struct Row {
  using E = Eights<H>;
  __m512 part[E::registers];

  static Row load(const float* from) {
    Row row;
    if constexpr (E::packed)
      row.part[0] = join(from, from);
    else
      for (size_t r = 0; r < E::registers; ++r) row.part[r] = _mm512_loadu_ps(from + 16 * r);
    return row;
  }
  static Row zero() {
    Row row;
    for (__m512& part : row.part) part = _mm512_setzero_ps();
    return row;
  }
  Row times(const Row& other) const {
    Row row;
    for (size_t r = 0; r < E::registers; ++r) row.part[r] = _mm512_mul_ps(part[r], other.part[r]);
    return row;
  }
  void add_product(const Row& a, const Row& b) {
    for (size_t r = 0; r < E::registers; ++r)
      part[r] = _mm512_fmadd_ps(a.part[r], b.part[r], part[r]);
  }
  void store(float* to) const {
    if constexpr (E::packed)
      _mm256_storeu_ps(to, halves(part[0]));
    else
      for (size_t r = 0; r < E::registers; ++r) _mm512_storeu_ps(to + 16 * r, part[r]);
  }
  void add_to(float* to) const {
    if constexpr (E::packed)
      _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), halves(part[0])));
    else
      for (size_t r = 0; r < E::registers; ++r)
        _mm512_storeu_ps(to + 16 * r, _mm512_add_ps(_mm512_loadu_ps(to + 16 * r), part[r]));
  }
  // by_lane: the same number in all lanes of a head.
  void scale(__m512 by_lane) {
    for (size_t r = 0; r < E::registers; ++r)
      part[r] = _mm512_mul_ps(
          part[r], _mm512_permutexvar_ps(spread(static_cast<int>(r * E::edges % 8)), by_lane));
  }
};

// A weighted sum of rows. The sum over the halves of packed registers is taken when it is stored.
template <size_t H>
struct WeightedSum {
  Row<H> sum;

  static WeightedSum zero() { return {Row<H>::zero()}; }
  void add(const __m512* rows, __m512 weight) {
    for (size_t p = 0; p < 8; ++p) {
      __m512& total = sum.part[Eights<H>::own(p)];
      total = _mm512_fmadd_ps(_mm512_permutexvar_ps(spread(static_cast<int>(p)), weight), rows[p],
                              total);
    }
  }
  const Row<H>& total() const { return sum; }
};

template <size_t H>
inline __m512 dot_products(const __m512* rows, const Row<H>& own) {
  __m512 m[8];
  for (size_t p = 0; p < 8; ++p) m[p] = _mm512_mul_ps(rows[p], own.part[Eights<H>::own(p)]);
  return half_sums(m);
}

// Every lane gets the sum over the lanes of its head.
template <size_t H>
inline __m512 head_sums(__m512 v) {
  v = _mm512_add_ps(v, _mm512_permute_ps(v, 0xB1));
  if constexpr (H <= 4) v = _mm512_add_ps(v, _mm512_permute_ps(v, 0x4E));
  if constexpr (H <= 2) v = _mm512_add_ps(v, _mm512_shuffle_f32x4(v, v, 0x4E));
  if constexpr (H == 1) v = _mm512_add_ps(v, _mm512_shuffle_f32x4(v, v, 0xB1));
  return v;
}

template <size_t H>
inline constexpr __mmask16 kHeads = static_cast<__mmask16>((1U << H) - 1U);

// One number per head, spread over the lanes of the head; and back.
template <size_t H>
inline __m512 load_heads(const float* from) {
  return _mm512_permutexvar_ps(Eights<H>::kHead.load(), _mm512_maskz_loadu_ps(kHeads<H>, from));
}
template <size_t H>
inline void store_heads(float* to, __m512 v) {
  _mm512_mask_storeu_ps(to, kHeads<H>, _mm512_permutexvar_ps(Eights<H>::kLane.load(), v));
}

template <size_t H>
struct Tile {
  using E = Eights<H>;
  __m512 x[8], y[8];
  __m512i ids;  // in order
  EdgeOffset first;
  size_t count;

  Tile(const AttentionView& v, EdgeOffset first_edge, size_t edge_count)
      : first(first_edge), count(edge_count) {
    const NodeId* at = v.pattern.neighbours + first;
    // Past the end the last edge stands in; its weight is masked.
    auto in_order = static_cast<__mmask16>((1U << count) - 1U);
    ids = _mm512_mask_loadu_epi32(_mm512_set1_epi32(static_cast<int>(at[count - 1])), in_order, at);
    alignas(64) uint32_t id[16];
    _mm512_store_si512(id, ids);
    for (size_t p = 0; p < 8; ++p) {
      size_t place = size_t{id[E::edge(p)]} * v.table.stride;
      if constexpr (E::packed) {
        size_t other = size_t{id[p + 8]} * v.table.stride;
        x[p] = join(v.table.x + place, v.table.x + other);
        y[p] = join(v.table.y + place, v.table.y + other);
      } else {
        x[p] = _mm512_loadu_ps(v.table.x + place + 16 * E::own(p));
        y[p] = _mm512_loadu_ps(v.table.y + place + 16 * E::own(p));
      }
    }
  }

  // Lanes of this edge of the tile and of those behind.
  static Mask from(size_t edge) {
    return _mm512_cmpge_epi32_mask(E::kEdge.load(), _mm512_set1_epi32(static_cast<int>(edge)));
  }
  Mask present() const { return from(0) & unless(from(count)); }
  Floats dots_x(const Row<H>& own) const { return dot_products<H>(x, own); }
  Floats dots_y(const Row<H>& own) const { return dot_products<H>(y, own); }
  void add_x(WeightedSum<H>& sum, Floats weight) const { sum.add(x, weight); }
  void add_y(WeightedSum<H>& sum, Floats weight) const { sum.add(y, weight); }
  // values[H id + head] of the tile's edges, by lane.
  Floats gather(const float* values) const {
    __m512i id = _mm512_permutexvar_epi32(E::kEdge.load(), ids);
    __m512i at = _mm512_add_epi32(_mm512_mullo_epi32(id, _mm512_set1_epi32(H)), E::kHead.load());
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), present(), at, values, 4);
  }
  // to[edge][head] = v
  void store_scores(float* to, Floats v) const {
    __m512i at = _mm512_add_epi32(_mm512_mullo_epi32(E::kEdge.load(), _mm512_set1_epi32(H)),
                                  E::kHead.load());
    _mm512_mask_i32scatter_ps(to, present(), at, v, 4);
  }
};

}  // namespace spex::SPEX_ISA
