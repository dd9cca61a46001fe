// Tile by tile: the scores of its entries, all heads of the group, then their exponentials in
// vectors over entries and heads, then the rows of the table with those as weights.
#include "ops/additive_kernels.h"
#include "ops/tile_numbers.h"

namespace spex::SPEX_ISA {
namespace {

constexpr float kLowest = -3e38F;
constexpr float kOnes[kMostHeads] = {1, 1, 1, 1, 1, 1, 1, 1};

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

inline Floats leaky_slope(Floats z, float slope) {
  return z > 0.0F ? Floats{} + 1.0F : Floats{} + slope;
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
void query_side(TileNumbers& z, const Walk& walk, const float* source_scores,
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

void scale_row(float* row, const float* factors, const Walk& walk) {
  for (size_t g = 0; g < walk.heads; ++g)
    for (size_t d = 0; d < walk.view.width; ++d) row[g * walk.view.width + d] *= factors[g];
}

// Maximum and sum of the scores so far, as they run along with the tiles.
struct Softmax {
  HeadNumbers top = HeadNumbers::all(kLowest), total = HeadNumbers::all(0.0F);

  // Scores z become exp(e - top) in place. Returns what sums under the former top are worth now.
  HeadNumbers take(TileNumbers& z, size_t numbers, size_t heads, float slope) {
    HeadNumbers before = top, sum = HeadNumbers::all(0.0F);
    for_vectors(numbers, [&](size_t at, size_t v) {
      Floats e = leaky(load<Floats>(z.at + at), slope);
      store(z.at + at, e);
      top.at[v] = larger(top.at[v], e);
    });
    top = largest_of(top, heads);
    for_vectors(numbers, [&](size_t at, size_t v) {
      Floats w = decay(load<Floats>(z.at + at) - top.at[v]);
      store(z.at + at, w);
    });
    z.pad(numbers, 0.0F);
    for_vectors(numbers, [&](size_t at, size_t v) { sum.at[v] += load<Floats>(z.at + at); });
    sum = sum_of(sum, heads);
    for (size_t v = 0; v < kPeriodVectors; ++v) {
      before.at[v] = decay(before.at[v] - top.at[v]);
      total.at[v] = total.at[v] * before.at[v] + sum.at[v];
    }
    return before;
  }
};

void forward_row(const AdditiveForward& c, Walk& walk, Ahead& ahead, size_t row) {
  size_t place = row * walk.view.heads + walk.head;
  float* out = c.out + row * walk.row_floats() + walk.column();
  float* inverse = c.inverse_sum + place;
  TileNumbers x;
  Softmax softmax;
  float worth[kMostHeads];
  walk.start(row);
  for (size_t first = walk.entry; walk.entry < walk.end; walk.entry += walk.count()) {
    query_side(x, walk, c.source_scores, c.query_scores + place);
    softmax.take(x, walk.count() * walk.heads, walk.heads, walk.view.slope).to(worth, walk.heads);
    Tile tile = walk.tile(c.source_scores, walk.view.heads);
    tile.weights = x.at;
    tile.sum = out;
    tile.scale = walk.entry > first ? worth : nullptr;
    run_parts<true, false>(tile, walk.layout, walk.heads, ahead);
  }
  bool empty = walk.view.rows.begin(row) == walk.end;
  softmax.top.to(c.largest + place, walk.heads);
  softmax.total.to(inverse, walk.heads);
  for (size_t g = 0; g < walk.heads; ++g) inverse[g] = empty ? 0.0F : 1.0F / inverse[g];
  if (empty)
    for (size_t d = 0; d < walk.heads * walk.view.width; ++d) out[d] = 0.0F;
  else
    scale_row(out, inverse, walk);
}

// dquery_i = sum_j a_ij slope_ij u_ij - delta_i sum_j a_ij slope_ij.
void query_backward_row(const AdditiveQueryBackward& c, Walk& walk, Ahead& ahead, float* dots,
                        size_t row) {
  size_t heads = walk.view.heads, place = row * heads + walk.head;
  TileNumbers z, u;
  HeadNumbers top = HeadNumbers::from(c.largest + place, walk.heads);
  HeadNumbers inverse = HeadNumbers::from(c.inverse_sum + place, walk.heads);
  HeadNumbers delta = HeadNumbers::all(0.0F), slopes = delta, dscore = delta;
  for (walk.start(row); walk.entry < walk.end; walk.entry += walk.count()) {
    size_t numbers = walk.count() * walk.heads;
    query_side(z, walk, c.source_scores, c.query_scores + place);
    Tile tile = walk.tile(c.source_scores, heads);
    tile.own = c.dout + row * walk.row_floats() + walk.column();
    tile.dots = dots;
    run_parts<false, true>(tile, walk.layout, walk.heads, ahead);
    sum_dots(u, dots, numbers, walk.layout.lanes);
    for_vectors(numbers, [&](size_t at, size_t v) {
      Floats score = load<Floats>(z.at + at), product = load<Floats>(u.at + at);
      Floats a = decay(leaky(score, walk.view.slope) - top.at[v]) * inverse.at[v];
      Floats sloped = a * leaky_slope(score, walk.view.slope);
      delta.at[v] += a * product;
      slopes.at[v] += sloped;
      dscore.at[v] += sloped * product;
    });
  }
  delta = sum_of(delta, walk.heads);
  for (size_t v = 0; v < kPeriodVectors; ++v) dscore.at[v] -= delta.at[v] * slopes.at[v];
  sum_of(dscore, walk.heads).to(c.dquery_scores + place, walk.heads);
  float* to = c.query_numbers + kQueryNumbers * row * heads + walk.head;
  for (size_t g = 0; g < walk.heads; ++g) to[g] = c.query_scores[place + g];
  top.to(to + heads, walk.heads);
  inverse.to(to + 2 * heads, walk.heads);
  delta.to(to + 3 * heads, walk.heads);
}

// What the queries of a tile say of themselves, [entry][head].
struct QueryTile {
  TileNumbers z, top, inverse, delta;

  void read(const Walk& walk, const float* query_numbers, const float* source_scores) {
    with_heads(walk.heads, [&]<int G>() {
      using Vec = typename HeadVectors<G>::Vec;
      const NodeId* ids = walk.ids();
      size_t heads = walk.view.heads;
      for (size_t e = 0, count = walk.count(); e < count; ++e) {
        const float* from = query_numbers + kQueryNumbers * size_t{ids[e]} * heads + walk.head;
        for (size_t g = 0; g < G; g += floats_in<Vec>) {
          store(z.at + e * G + g, load<Vec>(from + g) + load<Vec>(source_scores + g));
          store(top.at + e * G + g, load<Vec>(from + heads + g));
          store(inverse.at + e * G + g, load<Vec>(from + 2 * heads + g));
          store(delta.at + e * G + g, load<Vec>(from + 3 * heads + g));
        }
      }
    });
    size_t numbers = walk.count() * walk.heads;
    z.pad(numbers, 0.0F);
    top.pad(numbers, 0.0F);
    inverse.pad(numbers, 0.0F);  // so nothing behind the tile counts
    delta.pad(numbers, 0.0F);
  }
};

void source_backward_row(const AdditiveSourceBackward& c, Walk& walk, Ahead& ahead, float* dots,
                         size_t row) {
  size_t place = row * walk.view.heads + walk.head;
  size_t own = row * walk.row_floats() + walk.column();
  QueryTile queries;
  TileNumbers a, u;
  HeadNumbers dscore = HeadNumbers::all(0.0F);
  bool started = c.add;
  for (walk.start(row); walk.entry < walk.end; walk.entry += walk.count()) {
    size_t numbers = walk.count() * walk.heads;
    queries.read(walk, c.query_numbers, c.source_scores + place);
    for_vectors(numbers, [&](size_t at, size_t) {
      Floats e = leaky(load<Floats>(queries.z.at + at), walk.view.slope);
      store(a.at + at,
            decay(e - load<Floats>(queries.top.at + at)) * load<Floats>(queries.inverse.at + at));
    });
    Tile tile = walk.tile(c.query_numbers, kQueryNumbers * walk.view.heads);
    tile.weights = a.at;
    tile.sum = c.dvalues + own;
    tile.scale = started ? kOnes : nullptr;
    tile.own = c.values + own;
    tile.dots = dots;
    run_parts<true, true>(tile, walk.layout, walk.heads, ahead);
    started = true;
    sum_dots(u, dots, numbers, walk.layout.lanes);
    for_vectors(numbers, [&](size_t at, size_t v) {
      dscore.at[v] += load<Floats>(a.at + at) *
                      leaky_slope(load<Floats>(queries.z.at + at), walk.view.slope) *
                      (load<Floats>(u.at + at) - load<Floats>(queries.delta.at + at));
    });
  }
  if (!started)
    for (size_t d = 0; d < walk.heads * walk.view.width; ++d) c.dvalues[own + d] = 0.0F;
  sum_of(dscore, walk.heads).to(c.dsource_scores + place, walk.heads);
}

}  // namespace

void additive_forward(const AdditiveForward& c, size_t first, size_t last, size_t begin,
                      size_t end) {
  for_groups(c.view, first, last, begin, end, [&](Walk& walk, Ahead& ahead) {
    for (size_t row = begin; row < end; ++row) forward_row(c, walk, ahead, row);
  });
}

void additive_query_backward(const AdditiveQueryBackward& c, size_t first, size_t last,
                             size_t begin, size_t end) {
  alignas(64) float dots[kTileNumbers * kLanes] = {};
  for_groups(c.view, first, last, begin, end, [&](Walk& walk, Ahead& ahead) {
    for (size_t row = begin; row < end; ++row) query_backward_row(c, walk, ahead, dots, row);
  });
}

void additive_source_backward(const AdditiveSourceBackward& c, size_t first, size_t last,
                              size_t begin, size_t end) {
  alignas(64) float dots[kTileNumbers * kLanes] = {};
  for_groups(c.view, first, last, begin, end, [&](Walk& walk, Ahead& ahead) {
    for (size_t row = begin; row < end; ++row) source_backward_row(c, walk, ahead, dots, row);
  });
}

}  // namespace spex::SPEX_ISA
