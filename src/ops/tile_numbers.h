// Arithmetic on the numbers of a tile: one for each entry and head, [entry][head], filled up to
// whole periods, over which the heads of every group (1, 2, 4 or 8) repeat. Included by *.simd.cpp
// only.
#pragma once

#include <utility>

#include "ops/neighbour_tiles.h"

namespace spex::SPEX_ISA {

inline constexpr size_t kPeriod = kLanes > kMostHeads ? kLanes : kMostHeads;
inline constexpr size_t kPeriodVectors = kPeriod / kLanes;

struct TileNumbers {
  alignas(64) float at[kTileNumbers];

  // What stands behind the tile's own numbers.
  void pad(size_t numbers, float value) {
    for (size_t i = numbers; i % kPeriod != 0; ++i) at[i] = value;
  }
};

// A number per head of the group, over and over.
struct HeadNumbers {
  Floats at[kPeriodVectors];

  static HeadNumbers all(float value) {
    HeadNumbers result;
    for (Floats& each : result.at) each = Floats{} + value;
    return result;
  }
  static HeadNumbers from(const float* values, size_t heads) {
    alignas(64) float period[kPeriod];
    for (size_t k = 0; k < kPeriod; ++k) period[k] = values[k & (heads - 1)];
    HeadNumbers result;
    __builtin_memcpy(result.at, period, sizeof(period));
    return result;
  }
  void to(float* values, size_t heads) const {
    alignas(64) float period[kPeriod];
    __builtin_memcpy(period, at, sizeof(period));
    for (size_t g = 0; g < heads; ++g) values[g] = period[g];
  }
};

// Calls body(place of a vector in the tile, its number in the period).
template <class Body>
inline void for_vectors(size_t numbers, Body&& body) {
  for (size_t i = 0; i < numbers; i += kPeriod)
    for (size_t v = 0; v < kPeriodVectors; ++v) body(i + v * kLanes, v);
}

// Every lane meets the one whose number differs in the bit Step.
template <size_t Step, class Join, size_t... Lane>
inline Floats join_lanes(Floats x, Join&& join, std::index_sequence<Lane...>) {
  return join(x, __builtin_shufflevector(x, x, (Lane ^ Step)...));
}

// What was joined entry by entry becomes one number per head.
template <class Join>
inline HeadNumbers fold(HeadNumbers x, size_t heads, Join&& join) {
  using Lanes = std::make_index_sequence<kLanes>;
  if constexpr (kPeriodVectors == 2)
    if (heads <= kLanes) x.at[1] = join(x.at[0], x.at[1]), x.at[0] = x.at[1];
  for (Floats& each : x.at) {
    if constexpr (floats_in < Floats >> 8) each = join_lanes<8>(each, join, Lanes());
    if constexpr (floats_in < Floats >> 4)
      if (heads <= 4) each = join_lanes<4>(each, join, Lanes());
    if (heads <= 2) each = join_lanes<2>(each, join, Lanes());
    if (heads <= 1) each = join_lanes<1>(each, join, Lanes());
  }
  return x;
}

inline HeadNumbers sum_of(const HeadNumbers& x, size_t heads) {
  return fold(x, heads, [](Floats a, Floats b) { return a + b; });
}

inline HeadNumbers largest_of(const HeadNumbers& x, size_t heads) {
  return fold(x, heads, [](Floats a, Floats b) { return larger(a, b); });
}

// exp(x) for x below zero, up to rounding; far below it a number that counts for nothing.
inline Floats decay(Floats x) {
  return exponential(larger(Floats{} - 80.0F, x));
}

// Sums over the lanes of four vectors.
inline F4 sum_lanes(F4 a, F4 b, F4 c, F4 d) {
  F4 ab = __builtin_shufflevector(a, b, 0, 4, 2, 6) + __builtin_shufflevector(a, b, 1, 5, 3, 7);
  F4 cd = __builtin_shufflevector(c, d, 0, 4, 2, 6) + __builtin_shufflevector(c, d, 1, 5, 3, 7);
  return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

// A vector of `Count` lanes, a multiple of four, brought down to four.
template <size_t Count>
inline F4 as_four(const float* vector) {
  F4 sum = load<F4>(vector);
  for (size_t at = 4; at < Count; at += 4) sum += load<F4>(vector + at);
  return sum;
}

template <size_t Count>
inline void sum_dots(TileNumbers& products, const float* dots, size_t numbers) {
  for (size_t i = 0; i < numbers; i += 4) {
    const float* from = dots + i * Count;
    if constexpr (Count == 1)
      store(products.at + i, load<F4>(from));
    else
      store(products.at + i,
            sum_lanes(as_four<Count>(from), as_four<Count>(from + Count),
                      as_four<Count>(from + 2 * Count), as_four<Count>(from + 3 * Count)));
  }
  products.pad(numbers, 0.0F);
}

// The lanes that a tile's products were left in (Tile::dots), summed; zeros behind them.
inline void sum_dots(TileNumbers& products, const float* dots, size_t numbers, size_t lanes) {
  if (lanes == 16) return sum_dots<16>(products, dots, numbers);
  if (lanes == 8) return sum_dots<8>(products, dots, numbers);
  if (lanes == 4) return sum_dots<4>(products, dots, numbers);
  sum_dots<1>(products, dots, numbers);
}

}  // namespace spex::SPEX_ISA
