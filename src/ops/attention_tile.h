// A tile of the wide attention kernels: up to sixteen edges of a row, their dot products with the
// row's own vector, and weighted sums of their rows. Included by attention_wide.simd.cpp only.
#pragma once

#include "ops/attention_lanes.h"

namespace spex::SPEX_ISA {

inline constexpr size_t kTile = 16;
inline constexpr size_t kGroup = 8;       // edges whose dot products are computed together
inline constexpr EdgeOffset kAhead = 12;  // edges between asking for a row and using it

struct Tile {
  EdgeOffset first;
  size_t count;
  const float* x[kTile];  // behind the last edge up to a whole group: its copies
  const float* y[kTile];
  uint8_t type[kTile];

  bool one_type() const { return type[0] == type[count - 1]; }
};

inline void prefetch_row(const float* row, size_t floats) {
  for (size_t c = 0; c < floats; c += 16) __builtin_prefetch(row + c);
}

// The type of an edge ahead is not known; that of the edge at hand is a good guess.
inline void prefetch(const AttentionView& v, const Tile& tile) {
  for (size_t e = 0; e < tile.count && tile.first + e + kAhead < v.pattern.edges; ++e) {
    size_t id = v.pattern.neighbours[tile.first + e + kAhead];
    const float* x = v.table.x + id * v.table.x_stride + tile.type[e] * v.table.type_stride;
    const float* y = v.table.y + id * v.table.stride;
    prefetch_row(x, v.heads * v.width);
    if (x != y) prefetch_row(y, v.heads * v.width);
  }
}

inline void fill_tile(Tile& tile, const AttentionView& v, const EdgeOffset* bounds,
                      EdgeOffset first) {
  const TableView& table = v.table;
  EdgeOffset left = bounds[v.pattern.types] - first;
  tile.first = first;
  tile.count = left < kTile ? left : kTile;
  size_t e = 0;
  for (size_t type = 0; type < v.pattern.types; ++type)
    for (; e < tile.count && first + e < bounds[type + 1]; ++e) {
      size_t id = v.pattern.neighbours[first + e];
      tile.x[e] = table.x + id * table.x_stride + type * table.type_stride;
      tile.y[e] = table.y + id * table.stride;
      tile.type[e] = static_cast<uint8_t>(type);
    }
  for (; e < kTile && e % kGroup != 0; ++e) {
    tile.x[e] = tile.x[e - 1];
    tile.y[e] = tile.y[e - 1];
    tile.type[e] = tile.type[e - 1];
  }
  if (v.prefetch) prefetch(v, tile);
}

inline void store_sums(float* to, const F4* v) {
  store(to, sums_of(v));
  store(to + 4, sums_of(v + 4));
}
#if defined(__AVX2__)
inline void store_sums(float* to, const F8* v) {
  store(to, sums_of(v));
}
#endif
#if defined(__AVX512F__)
inline void store_sums(float* to, const F16* v) {
  F8 halves[kGroup];
  for (size_t i = 0; i < kGroup; ++i)
    halves[i] = __builtin_shufflevector(v[i], v[i], 0, 1, 2, 3, 4, 5, 6, 7) +
                __builtin_shufflevector(v[i], v[i], 8, 9, 10, 11, 12, 13, 14, 15);
  store(to, sums_of(halves));
}
#endif

// to[e] = own_e . row_e for a group; own(e, c) is the part from column c on of the vector that the
// row has for that edge.
template <class V, class Own>
inline void dot_group(float* to, Own&& own, const float* const* rows, size_t at, size_t width) {
  V products[kGroup];
  for (size_t e = 0; e < kGroup; ++e) products[e] = own(e, 0) * load<V>(rows[e] + at);
  for (size_t c = lanes<V>; c < width; c += lanes<V>)
    for (size_t e = 0; e < kGroup; ++e) products[e] += own(e, c) * load<V>(rows[e] + at + c);
  store_sums(to, products);
}

// to[e] = own . row_e, over the `width` columns of a head that begin at column `at` of the rows.
template <class V>
inline void dots(float* to, const float* own, const float* const* rows, size_t at, size_t width,
                 size_t count) {
  for (size_t e = 0; e < count; e += kGroup)
    dot_group<V>(
        to + e, [own](size_t, size_t c) { return load<V>(own + c); }, rows + e, at, width);
}

// The same from edge `begin` on, where each type's edges meet a vector of their own, `step` floats
// after each other.
template <class V>
inline void dots_by_type(float* to, const float* own, size_t step, const Tile& tile, size_t at,
                         size_t width, size_t begin = 0) {
  for (size_t e = begin; e < tile.count; e += kGroup) {
    const uint8_t* type = tile.type + e;
    const float* first = own + type[0] * step;
    if (type[0] == type[kGroup - 1])
      dot_group<V>(
          to + e, [first](size_t, size_t c) { return load<V>(first + c); }, tile.x + e, at, width);
    else
      dot_group<V>(
          to + e, [&](size_t i, size_t c) { return load<V>(own + type[i] * step + c); }, tile.x + e,
          at, width);
  }
}

// Lanes that hold an edge, of those from edge `e` on.
inline Ints present(const Tile& tile, size_t e) {
  return lane_numbers() < static_cast<int>(tile.count - e);
}

inline void add_bias(float* s, const AttentionView& v, const Tile& tile, size_t head) {
  if (tile.one_type()) {
    float bias = v.bias[tile.type[0] * v.heads + head];
    for (size_t e = 0; e < tile.count; e += kLanes) store(s + e, load<Floats>(s + e) + bias);
  } else {
    for (size_t e = 0; e < tile.count; ++e) s[e] += v.bias[tile.type[e] * v.heads + head];
  }
  if (v.pattern.values)
    for (size_t e = 0; e < tile.count; ++e)
      s[e] += v.value_weight[head] * v.pattern.values[tile.first + e];
}

// Dot products of a head become weights, zero behind the last edge.
inline void weights(float* s, const AttentionView& v, const Tile& tile, size_t head) {
  add_bias(s, v, tile, head);
  for (size_t e = 0; e < tile.count; e += kLanes) {
    Floats w = exponential(clamp(load<Floats>(s + e), v.clamp));
    store(s + e, present(tile, e) ? w : Floats{});
  }
}

// to += the sum over edges [begin, end) of w[e] row_e, over N vectors.
template <class V, size_t N>
inline void weighted_strip(float* to, const float* w, const float* const* rows, size_t at,
                           size_t begin, size_t end) {
  V part[N] = {};  // summed apart from the total: long rows lose fewer digits
  for (size_t e = begin; e < end; ++e)
    for (size_t i = 0; i < N; ++i) part[i] += w[e] * load<V>(rows[e] + at + i * lanes<V>);
  for (size_t i = 0; i < N; ++i) store(to + i * lanes<V>, load<V>(to + i * lanes<V>) + part[i]);
}

// The same over a head's columns.
template <class V>
inline void weighted_sum(float* to, const float* w, const float* const* rows, size_t at,
                         size_t width, size_t begin, size_t end) {
  constexpr size_t kStep = lanes<V>;
  size_t c = 0;
  for (; c + 8 * kStep <= width; c += 8 * kStep)
    weighted_strip<V, 8>(to + c, w, rows, at + c, begin, end);
  for (; c + 4 * kStep <= width; c += 4 * kStep)
    weighted_strip<V, 4>(to + c, w, rows, at + c, begin, end);
  for (; c < width; c += kStep) weighted_strip<V, 1>(to + c, w, rows, at + c, begin, end);
}

}  // namespace spex::SPEX_ISA
