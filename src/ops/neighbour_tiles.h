// The inner loops of operations that gather the rows of neighbours: weighted sums of them, and
// their products with a row at hand. Included by *.simd.cpp only.
//
// A row of a table is H heads of D floats. A group of heads is done at once, its D floats each in
// `V` vectors, as many as stay in registers; a wider head is done in parts. The entries of a row
// come in tiles. Where vectors do not fill a head, the last one reaches back over the one before
// it: both compute the same number for the columns they share.
#pragma once

#include <cstddef>

#include "core/vectors.h"
#include "ops/fetch_ahead.h"

namespace spex::SPEX_ISA {

template <class Vec>
inline constexpr size_t floats_in = sizeof(Vec) / sizeof(float);

inline constexpr size_t kMostVectors = 8;  // of a group, in registers
inline constexpr size_t kMostHeads = 8;
inline constexpr size_t kTileNumbers = 256;  // entries of a tile times heads of the group, at most

// One tile, for one part of a group of G heads. `table`, `sum` and `own` point to its first column.
struct Tile {
  const NodeId* ids = nullptr;
  size_t count = 0;
  const float* table = nullptr;
  size_t stride = 0;
  size_t back = 0;                // how far the last vector reaches back
  const float* beside = nullptr;  // another table read by id
  size_t beside_stride = 0;
  const float* weights = nullptr;  // [entry][head]
  float* sum = nullptr;            // gets weights times rows, on top of
  const float* scale = nullptr;    // [head] times what it was; null: nothing
  const float* own = nullptr;      // the row whose products with the table's rows are wanted
  float* dots = nullptr;           // [entry][head][lane]: to be summed over lanes
  bool add_dots = false;           // to those of the parts before
};

template <class Vec, int V, int G>
struct Vectors {
  static constexpr int count = V * G;
  Vec at[count];

  // Heads that vectors do not fill are done alone, so it is the last vector only that reaches back.
  static size_t place(int k, size_t back) {
    return k * floats_in<Vec> - (G == 1 && k == V - 1 ? back : 0);
  }
  // A row with zeros where the last vector repeats the one before it.
  static Vectors once(const float* row, size_t back) {
    Vectors own;
    for (int k = 0; k < count; ++k) own.at[k] = load<Vec>(row + place(k, back));
    if (back > 0) {
      float last[floats_in<Vec>];
      store(last, own.at[count - 1]);
      for (size_t lane = 0; lane < back; ++lane) last[lane] = 0.0F;
      own.at[count - 1] = load<Vec>(last);
    }
    return own;
  }
};

// Sum: weights times rows are added up. Dot: products with `own` are wanted.
template <class Vec, int V, int G, bool Sum, bool Dot>
void run_tile(const Tile& tile, Ahead& caller_ahead) {
  using Group = Vectors<Vec, V, G>;
  const Tile t = tile;  // a copy that the stores below cannot change
  Group sum, own;
#pragma GCC unroll 8
  for (int k = 0; k < Group::count; ++k) {
    sum.at[k] = Vec{};
    if (Sum && t.scale) sum.at[k] = t.scale[k / V] * load<Vec>(t.sum + Group::place(k, t.back));
  }
  if (Dot) own = Group::once(t.own, t.back);
  Ahead ahead = caller_ahead;
  for (size_t e = 0; e < t.count; ++e) {
    const float* row = t.table + size_t{t.ids[e]} * t.stride;
    ahead.fetch(t.table, t.stride, Group::count * floats_in<Vec>, t.beside, t.beside_stride);
    Vec dot[G] = {};
    for (int k = 0; k < Group::count; ++k) {
      Vec x = load<Vec>(row + Group::place(k, t.back));
      if (Dot) dot[k / V] += own.at[k] * x;
      if (Sum) sum.at[k] += t.weights[e * G + k / V] * x;
    }
    if (Dot)
      for (int g = 0; g < G; ++g) {
        float* to = t.dots + (e * G + g) * floats_in<Vec>;
        store(to, t.add_dots ? load<Vec>(to) + dot[g] : dot[g]);
      }
  }
  caller_ahead = ahead;
  if (Sum)
    for (int k = 0; k < Group::count; ++k) store(t.sum + Group::place(k, t.back), sum.at[k]);
}

using TileFunction = void (*)(const Tile&, Ahead&);

template <class Vec, bool Sum, bool Dot>
TileFunction tile_function(size_t vectors, size_t heads) {
  switch (vectors * 16 + heads) {
    case 0x11:
      return run_tile<Vec, 1, 1, Sum, Dot>;
    case 0x12:
      return run_tile<Vec, 1, 2, Sum, Dot>;
    case 0x14:
      return run_tile<Vec, 1, 4, Sum, Dot>;
    case 0x18:
      return run_tile<Vec, 1, 8, Sum, Dot>;
    case 0x21:
      return run_tile<Vec, 2, 1, Sum, Dot>;
    case 0x22:
      return run_tile<Vec, 2, 2, Sum, Dot>;
    case 0x24:
      return run_tile<Vec, 2, 4, Sum, Dot>;
    case 0x31:
      return run_tile<Vec, 3, 1, Sum, Dot>;
    case 0x32:
      return run_tile<Vec, 3, 2, Sum, Dot>;
  }
  if constexpr (sizeof(Vec) == sizeof(Floats)) switch (vectors * 16 + heads) {
      case 0x41:
        return run_tile<Vec, 4, 1, Sum, Dot>;
      case 0x42:
        return run_tile<Vec, 4, 2, Sum, Dot>;
      case 0x51:
        return run_tile<Vec, 5, 1, Sum, Dot>;
      case 0x61:
        return run_tile<Vec, 6, 1, Sum, Dot>;
      case 0x71:
        return run_tile<Vec, 7, 1, Sum, Dot>;
      case 0x81:
        return run_tile<Vec, 8, 1, Sum, Dot>;
    }
  __builtin_unreachable();
}

template <bool Sum, bool Dot>
TileFunction tile_function(size_t lanes_wanted, size_t vectors, size_t heads) {
  if (lanes_wanted == kLanes) return tile_function<Floats, Sum, Dot>(vectors, heads);
  if constexpr (sizeof(Floats) > sizeof(F8))
    if (lanes_wanted == 8) return tile_function<F8, Sum, Dot>(vectors, heads);
  if (lanes_wanted == 4) return tile_function<F4, Sum, Dot>(vectors, heads);
  return tile_function<float, Sum, Dot>(vectors, heads);
}

// How the D floats of a head become vectors.
struct HeadLayout {
  size_t lanes = 1;
  size_t vectors = 1;
  size_t parts = 1;
  size_t back = 0;

  explicit HeadLayout(size_t width) {
    lanes = lanes_for(width);
    vectors = (width + lanes - 1) / lanes;
    parts = (vectors + kMostVectors - 1) / kMostVectors;
    back = vectors * lanes - width;
  }
  size_t first_vector(size_t part) const { return vectors * part / parts; }
  // Heads that are done at once, of `left` ones: 8, 4, 2 or 1.
  size_t group(size_t left) const {
    size_t most = back > 0 || parts > 1 ? 1 : kMostVectors / vectors;
    size_t heads = 1;
    while (2 * heads <= (left < most ? left : most)) heads *= 2;
    return heads;
  }

 private:
  // The widest vectors, but narrower ones that fill a narrow head.
  static size_t lanes_for(size_t width) {
    for (size_t lanes = kLanes; lanes >= 4; lanes /= 2)
      if (width % lanes == 0 && (lanes == kLanes || width / lanes <= 3)) return lanes;
    for (size_t lanes = kLanes; lanes >= 4; lanes /= 2)
      if (width >= lanes) return lanes;
    return 1;
  }
};

// Runs `tile` over all parts of a group of heads whose first column the tile points to.
template <bool Sum, bool Dot>
void run_parts(Tile& tile, const HeadLayout& layout, size_t heads, Ahead& ahead) {
  tile.back = layout.back;
  if (layout.parts == 1)
    return tile_function<Sum, Dot>(layout.lanes, layout.vectors, heads)(tile, ahead);
  Ahead start = ahead;
  for (size_t part = 0; part < layout.parts; ++part) {
    size_t first = layout.first_vector(part), vectors = layout.first_vector(part + 1) - first;
    Tile t = tile;
    t.table += first * layout.lanes;
    if (Sum) t.sum += first * layout.lanes;
    if (Dot) t.own += first * layout.lanes;
    t.back = part + 1 == layout.parts ? layout.back : 0;
    t.add_dots = part > 0;
    ahead = start;
    TileFunction run = tile_function<Sum, Dot>(layout.lanes, vectors, heads);
    run(t, ahead);
  }
}

}  // namespace spex::SPEX_ISA
