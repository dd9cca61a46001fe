// Heads of eight features where a vector holds eight floats (AVX2) or four (SSE, NEON): a head's
// row is one register or two. What attention_eights.simd.cpp is made of; see there.
//
// A tile has as many scores as a vector has lanes, and lane p belongs to one edge and one head:
// the edges of the first head, those of the second, and so on. Rows are read where they lie: they
// are in the nearest cache after their first use, and there are more of them than registers.
#pragma once

#include "ops/attention_lanes.h"

namespace spex::SPEX_ISA {

using Mask = Ints;  // all bits of a lane, or none

inline Floats where(Mask mask, Floats v) {
  return (Floats)((Ints)v & mask);
}
inline Floats choose(Mask mask, Floats a, Floats b) {
  return mask ? a : b;
}
inline Mask equal(Floats a, Floats b) {
  return a == b;
}
inline Mask unless(Mask mask) {
  return ~mask;
}

template <size_t H>
struct Eights {
  static_assert(H <= kLanes);
  static constexpr size_t heads = H;
  static constexpr size_t floats = 8 * H;
  static constexpr size_t edges = kLanes / H;                // of a tile
  static constexpr EdgeOffset ahead = H == 1 ? 32 : 48 / H;  // from asking for a row to using it
  static constexpr size_t parts = 8 / kLanes;                // registers of a head's row
  static constexpr size_t edge(size_t lane) { return lane % edges; }
  static constexpr size_t head(size_t lane) { return lane / edges; }
};

// A row of a node's own, or of a type's coefficients.
template <size_t H>
struct Row {
  static constexpr size_t kParts = H * Eights<H>::parts;
  Floats part[kParts];

  static Row load(const float* from) {
    Row row;
    for (size_t i = 0; i < kParts; ++i) row.part[i] = SPEX_ISA::load<Floats>(from + kLanes * i);
    return row;
  }
  static Row zero() { return {}; }
  Row times(const Row& other) const {
    Row row;
    for (size_t i = 0; i < kParts; ++i) row.part[i] = part[i] * other.part[i];
    return row;
  }
  void add_product(const Row& a, const Row& b) {
    for (size_t i = 0; i < kParts; ++i) part[i] += a.part[i] * b.part[i];
  }
  void store(float* to) const {
    for (size_t i = 0; i < kParts; ++i) SPEX_ISA::store(to + kLanes * i, part[i]);
  }
  void add_to(float* to) const {
    for (size_t i = 0; i < kParts; ++i)
      SPEX_ISA::store(to + kLanes * i, SPEX_ISA::load<Floats>(to + kLanes * i) + part[i]);
  }
  // by_lane: the same number in all lanes of a head.
  void scale(Floats by_lane) {
    for (size_t i = 0; i < kParts; ++i)
      part[i] *= H == 1 ? by_lane : Floats{} + by_lane[i / Eights<H>::parts * Eights<H>::edges];
  }
};

template <size_t H>
using Places = size_t[Eights<H>::edges];  // where the rows of a tile's edges begin in a table

// Single lanes of a vector spread over whole ones.
class SpreadLanes {
 public:
#if defined(__AVX2__)
  // Spreading the halves first leaves shuffles within halves, which are cheap.
  explicit SpreadLanes(Floats v)
      : low_(__builtin_shufflevector(v, v, 0, 1, 2, 3, 0, 1, 2, 3)),
        high_(__builtin_shufflevector(v, v, 4, 5, 6, 7, 4, 5, 6, 7)) {}
  Floats operator[](size_t lane) const {
    return __builtin_shuffle(lane < 4 ? low_ : high_,
                             Ints{0, 0, 0, 0, 4, 4, 4, 4} + static_cast<int>(lane % 4));
  }

 private:
  Floats low_, high_;
#else
  explicit SpreadLanes(Floats v) : v_(v) {}
  Floats operator[](size_t lane) const {
    return __builtin_shuffle(v_, Ints{} + static_cast<int>(lane));
  }

 private:
  Floats v_;
#endif
};

// A weighted sum of rows, in several chains of additions that need not wait for each other.
template <size_t H>
struct WeightedSum {
  static constexpr size_t kChains = Eights<H>::edges < 4 ? 1 : Eights<H>::edges / 4;
  Row<H> chain[kChains];

  static WeightedSum zero() { return {}; }
  void add(const float* table, const Places<H>& at, Floats weight) {
    using E = Eights<H>;
    SpreadLanes spread(weight);
    for (size_t e = 0; e < E::edges; ++e)
      for (size_t i = 0; i < Row<H>::kParts; ++i)
        chain[e % kChains].part[i] +=
            spread[i / E::parts * E::edges + e] * load<Floats>(table + at[e] + kLanes * i);
  }
  Row<H> total() const {
    Row<H> sum = chain[0];
    for (size_t c = 1; c < kChains; ++c)
      for (size_t i = 0; i < Row<H>::kParts; ++i) sum.part[i] += chain[c].part[i];
    return sum;
  }
};

// A tile's dot products with a row: one per lane.
template <size_t H>
inline Floats dot_products(const float* table, const Places<H>& at, const Row<H>& own) {
  using E = Eights<H>;
  Floats products[kLanes];
  for (size_t p = 0; p < kLanes; ++p) {
    const float* row = table + at[E::edge(p)] + 8 * E::head(p);
    const Floats* with = own.part + E::head(p) * E::parts;
    products[p] = load<Floats>(row) * with[0];
    for (size_t i = 1; i < E::parts; ++i) products[p] += load<Floats>(row + kLanes * i) * with[i];
  }
  return sums_of(products);
}

// Every lane gets the sum over the lanes of its head.
template <size_t H>
inline Floats head_sums(Floats v) {
  for (int step = 1; step < static_cast<int>(Eights<H>::edges); step *= 2)
    v += __builtin_shuffle(v, lane_numbers() ^ step);
  return v;
}

template <size_t H>
inline Floats load_heads(const float* from) {
  Floats v;
  for (size_t p = 0; p < kLanes; ++p) v[p] = from[Eights<H>::head(p)];
  return v;
}
template <size_t H>
inline void store_heads(float* to, Floats v) {
  for (size_t h = 0; h < H; ++h) to[h] = v[h * Eights<H>::edges];
}

template <size_t H>
struct Tile {
  const float* x;
  const float* y;
  Places<H> at;
  const NodeId* ids;
  EdgeOffset first;
  size_t count;

  Tile(const AttentionView& v, EdgeOffset first_edge, size_t edge_count)
      : x(v.table.x),
        y(H == 1 ? x + 8 : v.table.y),
        ids(v.pattern.neighbours + first_edge),
        first(first_edge),
        count(edge_count) {
    // Past the end the last edge stands in; its weight is masked.
    size_t stride = H == 1 ? 16 : v.table.stride;
    if (count == Eights<H>::edges)
      for (size_t e = 0; e < Eights<H>::edges; ++e) at[e] = size_t{ids[e]} * stride;
    else
      for (size_t e = 0; e < Eights<H>::edges; ++e)
        at[e] = size_t{ids[e < count ? e : count - 1]} * stride;
  }

  // Lanes of this edge of the tile and of those behind.
  static Mask from(size_t edge) {
    Ints edges;
    for (size_t p = 0; p < kLanes; ++p) edges[p] = static_cast<int>(Eights<H>::edge(p));
    return edges >= static_cast<int>(edge);
  }
  Mask present() const { return ~from(count); }
  Floats dots_x(const Row<H>& own) const { return dot_products<H>(x, at, own); }
  Floats dots_y(const Row<H>& own) const { return dot_products<H>(y, at, own); }
  void add_x(WeightedSum<H>& sum, Floats weight) const { sum.add(x, at, weight); }
  void add_y(WeightedSum<H>& sum, Floats weight) const { sum.add(y, at, weight); }
  // values[H id + head] of the tile's edges, by lane.
  Floats gather(const float* values) const {
    Floats v;
    for (size_t p = 0; p < kLanes; ++p) {
      size_t e = Eights<H>::edge(p);
      v[p] = values[H * size_t{ids[e < count ? e : count - 1]} + Eights<H>::head(p)];
    }
    return v;
  }
  // to[edge][head] = v
  void store_scores(float* to, Floats v) const {
    for (size_t p = 0; p < kLanes; ++p)
      if (Eights<H>::edge(p) < count) to[H * Eights<H>::edge(p) + Eights<H>::head(p)] = v[p];
  }
};

}  // namespace spex::SPEX_ISA
