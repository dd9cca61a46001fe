// What the kernels of additive attention share. Tile by tile: the scores of its entries, all heads
// of the group, then their exponentials in vectors over entries and heads, then the rows of the
// table with those as weights. Included by *.simd.cpp only.
#pragma once

#include "ops/additive_kernels.h"
#include "ops/tile_numbers.h"

namespace spex::SPEX_ISA {

inline constexpr float kLowest = -3e38F;

// Vectors over the G heads of a group.
template <int G>
struct HeadVectors {
  using Vec = F4;
};
template <>
struct HeadVectors<1> {
  using Vec = float;
};
template <>
struct HeadVectors<2> {
  using Vec = float;
};
#if defined(__AVX2__)
template <>
struct HeadVectors<8> {
  using Vec = F8;
};
#endif

inline Floats leaky(Floats z, float slope) {
  return larger(slope * z, z);
}

// Calls body<G>() for the number of heads in the group.
template <class Body>
inline void with_heads(size_t heads, Body&& body) {
  if (heads == 1) return body.template operator()<1>();
  if (heads == 2) return body.template operator()<2>();
  if (heads == 4) return body.template operator()<4>();
  body.template operator()<8>();
}

// A group of heads and where it walks: what the three kernels share.
struct Walk {
  const AdditiveView& view;
  HeadLayout layout;
  size_t head, heads;  // the group's first head, and how many it has
  size_t entry, end;   // of the row

  size_t row_floats() const { return view.heads * view.width; }
  size_t column() const { return head * view.width; }
  const NodeId* ids() const { return view.rows.ids + entry; }
  size_t count() const {
    size_t most = kTileNumbers / heads;
    return end - entry < most ? end - entry : most;
  }
  void start(size_t row) {
    entry = view.rows.begin(row);
    end = view.rows.end(row);
  }
  Tile tile(const float* beside, size_t beside_stride) const {
    Tile tile;
    tile.ids = ids();
    tile.count = count();
    tile.table = view.table + column();
    tile.stride = row_floats();
    tile.beside = beside;
    tile.beside_stride = beside_stride;
    return tile;
  }
};

// Calls body(walk, ahead) for each group of the heads [first, last).
template <class Body>
inline void for_groups(const AdditiveView& view, size_t first, size_t last, size_t begin,
                       size_t end, Body&& body) {
  HeadLayout layout(view.width);
  for (size_t head = first; head < last;) {
    Walk walk{view, layout, head, layout.group(last - head), 0, 0};
    Ahead ahead(view.rows, begin, end, view.prefetch);
    body(walk, ahead);
    head += walk.heads;
  }
}

// z_ij of the tile, seen from the row of a query.
inline void query_side(TileNumbers& z, const Walk& walk, const float* source_scores,
                       const float* query_scores) {
  with_heads(walk.heads, [&]<int G>() {
    using Vec = typename HeadVectors<G>::Vec;
    const NodeId* ids = walk.ids();
    for (size_t e = 0, count = walk.count(); e < count; ++e) {
      const float* from = source_scores + size_t{ids[e]} * walk.view.heads + walk.head;
      for (size_t g = 0; g < G; g += floats_in<Vec>)
        store(z.at + e * G + g, load<Vec>(from + g) + load<Vec>(query_scores + g));
    }
  });
  z.pad(walk.count() * walk.heads, kLowest);
}

}  // namespace spex::SPEX_ISA
