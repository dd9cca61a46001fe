// Arithmetic on the numbers of a tile: one for each entry and head, [entry][head], filled up to
// whole periods of 16, over which the heads of every group (1, 2, 4 or 8) repeat. Included by
// *.simd.cpp only.
#pragma once

#include "ops/neighbour_tiles.h"

namespace spex::SPEX_ISA {

inline constexpr size_t kPeriod = 16;
inline constexpr size_t kPeriodVectors = kPeriod / floats_in<Native>;

inline size_t whole_periods(size_t numbers) {
  return (numbers + kPeriod - 1) / kPeriod * kPeriod;
}

struct TileNumbers {
  alignas(64) float at[kTileNumbers];

  // What stands behind the tile's own numbers.
  void pad(size_t numbers, float value) {
    for (size_t i = numbers; i < whole_periods(numbers); ++i) at[i] = value;
  }
};

// A number per head of the group, over and over.
struct HeadNumbers {
  alignas(64) float at[kPeriod];

  void set(const float* values, size_t heads) {
    for (size_t k = 0; k < kPeriod; ++k) at[k] = values[k % heads];
  }
  void set(float value) { set(&value, 1); }
};

// Calls body(place of a vector in the tile, place in the period, its number in the period).
template <class Body>
inline void for_vectors(size_t numbers, Body&& body) {
  for (size_t i = 0; i < numbers; i += kPeriod)
    for (size_t v = 0; v < kPeriodVectors; ++v)
      body(i + v * floats_in<Native>, v * floats_in<Native>, v);
}

// The period's vectors brought down to one number per head.
template <class Join>
inline HeadNumbers fold(const Native* vectors, size_t heads, Join&& join) {
  HeadNumbers all;
  for (size_t v = 0; v < kPeriodVectors; ++v) store(all.at + v * floats_in<Native>, vectors[v]);
  for (size_t half = kPeriod / 2; half >= heads; half /= 2)
    for (size_t k = 0; k < half; ++k) all.at[k] = join(all.at[k], all.at[k + half]);
  for (size_t k = heads; k < kPeriod; ++k) all.at[k] = all.at[k - heads];
  return all;
}

struct Sums {
  Native at[kPeriodVectors] = {};
  HeadNumbers per_head(size_t heads) const {
    return fold(at, heads, [](float a, float b) { return a + b; });
  }
};

inline HeadNumbers largest(const TileNumbers& x, size_t numbers, const HeadNumbers& so_far,
                           size_t heads) {
  Native most[kPeriodVectors];
  for (size_t v = 0; v < kPeriodVectors; ++v)
    most[v] = load<Native>(so_far.at + v * floats_in<Native>);
  for_vectors(numbers, [&](size_t at, size_t, size_t v) {
    Native each = load<Native>(x.at + at);
    most[v] = each > most[v] ? each : most[v];
  });
  return fold(most, heads, [](float a, float b) { return a > b ? a : b; });
}

// exp(x); what is far below zero becomes a number that counts for nothing.
inline Native decay(Native x) {
  return exponential(clamp(x, 80.0F));
}

// Sums over the lanes of four vectors.
inline F4 sum_lanes(F4 a, F4 b, F4 c, F4 d) {
  F4 ab = __builtin_shufflevector(a, b, 0, 4, 2, 6) + __builtin_shufflevector(a, b, 1, 5, 3, 7);
  F4 cd = __builtin_shufflevector(c, d, 0, 4, 2, 6) + __builtin_shufflevector(c, d, 1, 5, 3, 7);
  return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

template <class Vec>
inline F4 as_four(const float* lanes_of_one) {
  if constexpr (floats_in<Vec> <= 4) return load<F4>(lanes_of_one);
  if constexpr (floats_in<Vec> == 8) return load<F4>(lanes_of_one) + load<F4>(lanes_of_one + 4);
  if constexpr (floats_in<Vec> == 16)
    return (load<F4>(lanes_of_one) + load<F4>(lanes_of_one + 4)) +
           (load<F4>(lanes_of_one + 8) + load<F4>(lanes_of_one + 12));
}

template <class Vec>
inline void sum_dots(TileNumbers& products, const float* dots, size_t numbers) {
  constexpr size_t kEach = floats_in<Vec>;
  for (size_t i = 0; i < numbers; i += 4) {
    const float* from = dots + i * kEach;
    if constexpr (kEach == 1)
      store(products.at + i, load<F4>(from));
    else
      store(products.at + i,
            sum_lanes(as_four<Vec>(from), as_four<Vec>(from + kEach),
                      as_four<Vec>(from + 2 * kEach), as_four<Vec>(from + 3 * kEach)));
  }
  products.pad(numbers, 0.0F);
}

// The lanes that a tile's products were left in (Tile::dots), summed; zeros behind them.
inline void sum_dots(TileNumbers& products, const float* dots, size_t numbers, size_t lanes) {
  if (lanes == floats_in<Native>) return sum_dots<Native>(products, dots, numbers);
  if constexpr (floats_in < Native >> 8)
    if (lanes == 8) return sum_dots<F8>(products, dots, numbers);
  if (lanes == 4) return sum_dots<F4>(products, dots, numbers);
  sum_dots<float>(products, dots, numbers);
}

}  // namespace spex::SPEX_ISA
