// Tile by tile: the scores of its entries, all heads of the group, then their exponentials in
// vectors over entries and heads, then the rows of the table with those as weights.
#include "ops/additive_kernels.h"
#include "ops/tile_numbers.h"

namespace spex::SPEX_ISA {
namespace {

constexpr float kLowest = -3e38F;
constexpr float kOnes[kMostVectors] = {1, 1, 1, 1, 1, 1, 1, 1};

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

template <class Vec>
inline Vec leaky(Vec z, float slope) {
  return z > 0.0F ? z : slope * z;
}

template <class Vec>
inline Vec leaky_slope(Vec z, float slope) {
  return z > 0.0F ? Vec{} + 1.0F : Vec{} + slope;
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
template <int G, class Take>
inline void query_side(const Walk& walk, const float* source_scores, const float* query_scores,
                       Take&& take) {
  using Vec = typename HeadVectors<G>::Vec;
  const NodeId* ids = walk.ids();
  for (size_t e = 0, count = walk.count(); e < count; ++e) {
    const float* from = source_scores + size_t{ids[e]} * walk.view.heads + walk.head;
    for (size_t g = 0; g < G; g += floats_in<Vec>)
      take(e * G + g, load<Vec>(from + g) + load<Vec>(query_scores + g));
  }
}

void scale_row(float* row, const HeadNumbers& factor, const Walk& walk) {
  for (size_t g = 0; g < walk.heads; ++g)
    for (size_t d = 0; d < walk.view.width; ++d) row[g * walk.view.width + d] *= factor.at[g];
}

// exp(x - m) in place, and their sum on top of total.
HeadNumbers exponentials(TileNumbers& x, size_t numbers, const HeadNumbers& m, size_t heads) {
  for_vectors(numbers, [&](size_t at, size_t in_period, size_t) {
    store(x.at + at, decay(load<Native>(x.at + at) - load<Native>(m.at + in_period)));
  });
  x.pad(numbers, 0.0F);
  Sums sums;
  for_vectors(numbers, [&](size_t at, size_t, size_t v) { sums.at[v] += load<Native>(x.at + at); });
  return sums.per_head(heads);
}

// The maximum and the sum run along with the tiles; what was summed before is brought to the new
// maximum.
void forward_row(const AdditiveForward& c, Walk& walk, Ahead& ahead, size_t row) {
  size_t place = row * walk.view.heads + walk.head;
  float* out = c.out + row * walk.row_floats() + walk.column();
  TileNumbers x;
  HeadNumbers top, total, factor;
  top.set(kLowest);
  total.set(0.0F);
  bool started = false;
  for (walk.start(row); walk.entry < walk.end; walk.entry += walk.count()) {
    size_t numbers = walk.count() * walk.heads;
    with_heads(walk.heads, [&]<int G>() {
      query_side<G>(walk, c.source_scores, c.query_scores + place,
                    [&](size_t at, auto z) { store(x.at + at, leaky(z, walk.view.slope)); });
    });
    x.pad(numbers, kLowest);
    HeadNumbers new_top = largest(x, numbers, top, walk.heads);
    for_vectors(kPeriod, [&](size_t at, size_t, size_t) {
      store(factor.at + at, decay(load<Native>(top.at + at) - load<Native>(new_top.at + at)));
    });
    top = new_top;
    HeadNumbers sum = exponentials(x, numbers, top, walk.heads);
    for (size_t k = 0; k < kPeriod; ++k) total.at[k] = total.at[k] * factor.at[k] + sum.at[k];
    Tile tile = walk.tile(c.source_scores, walk.view.heads);
    tile.weights = x.at;
    tile.sum = out;
    tile.scale = started ? factor.at : nullptr;
    run_parts<true, false>(tile, walk.layout, walk.heads, ahead);
    started = true;
  }
  HeadNumbers inverse;
  for (size_t k = 0; k < kPeriod; ++k) inverse.at[k] = started ? 1.0F / total.at[k] : 0.0F;
  if (started)
    scale_row(out, inverse, walk);
  else
    for (size_t d = 0; d < walk.heads * walk.view.width; ++d) out[d] = 0.0F;
  for (size_t g = 0; g < walk.heads; ++g) {
    c.largest[place + g] = top.at[g];
    c.inverse_sum[place + g] = inverse.at[g];
  }
}

// dquery_i = sum_j a_ij slope_ij u_ij - delta_i sum_j a_ij slope_ij.
void query_backward_row(const AdditiveQueryBackward& c, Walk& walk, Ahead& ahead, float* dots,
                        size_t row) {
  size_t place = row * walk.view.heads + walk.head;
  TileNumbers x, steep, u;
  HeadNumbers top, inverse;
  top.set(c.largest + place, walk.heads);
  inverse.set(c.inverse_sum + place, walk.heads);
  Sums delta, sloped, slopes;
  for (walk.start(row); walk.entry < walk.end; walk.entry += walk.count()) {
    size_t numbers = walk.count() * walk.heads;
    with_heads(walk.heads, [&]<int G>() {
      query_side<G>(walk, c.source_scores, c.query_scores + place, [&](size_t at, auto z) {
        store(x.at + at, leaky(z, walk.view.slope));
        store(steep.at + at, leaky_slope(z, walk.view.slope));
      });
    });
    x.pad(numbers, kLowest);
    steep.pad(numbers, 0.0F);
    Tile tile = walk.tile(c.source_scores, walk.view.heads);
    tile.own = c.dout + row * walk.row_floats() + walk.column();
    tile.dots = dots;
    run_parts<false, true>(tile, walk.layout, walk.heads, ahead);
    sum_dots(u, dots, numbers, walk.layout.lanes);
    for_vectors(numbers, [&](size_t at, size_t in_period, size_t v) {
      Native a = decay(load<Native>(x.at + at) - load<Native>(top.at + in_period)) *
                 load<Native>(inverse.at + in_period);
      Native product = load<Native>(u.at + at), slope = load<Native>(steep.at + at);
      delta.at[v] += a * product;
      sloped.at[v] += a * slope * product;
      slopes.at[v] += a * slope;
    });
  }
  HeadNumbers d = delta.per_head(walk.heads), s = sloped.per_head(walk.heads),
              t = slopes.per_head(walk.heads);
  float* numbers_out = c.query_numbers + kQueryNumbers * row * walk.view.heads + walk.head;
  for (size_t g = 0; g < walk.heads; ++g) {
    c.dquery_scores[place + g] = s.at[g] - d.at[g] * t.at[g];
    numbers_out[g] = c.query_scores[place + g];
    numbers_out[walk.view.heads + g] = top.at[g];
    numbers_out[2 * walk.view.heads + g] = inverse.at[g];
    numbers_out[3 * walk.view.heads + g] = d.at[g];
  }
}

// What the queries of a tile say of themselves, [entry][head].
struct QueryTile {
  TileNumbers x, steep, inverse, delta;

  template <int G>
  void read(const Walk& walk, const float* query_numbers, const float* source_scores) {
    using Vec = typename HeadVectors<G>::Vec;
    const NodeId* ids = walk.ids();
    size_t heads = walk.view.heads;
    for (size_t e = 0, count = walk.count(); e < count; ++e) {
      const float* from = query_numbers + kQueryNumbers * size_t{ids[e]} * heads + walk.head;
      for (size_t g = 0; g < G; g += floats_in<Vec>) {
        Vec z = load<Vec>(from + g) + load<Vec>(source_scores + g);
        size_t at = e * G + g;
        store(x.at + at, leaky(z, walk.view.slope) - load<Vec>(from + heads + g));
        store(steep.at + at, leaky_slope(z, walk.view.slope));
        store(inverse.at + at, load<Vec>(from + 2 * heads + g));
        store(delta.at + at, load<Vec>(from + 3 * heads + g));
      }
    }
    size_t numbers = walk.count() * walk.heads;
    x.pad(numbers, 0.0F);
    steep.pad(numbers, 0.0F);
    inverse.pad(numbers, 0.0F);
    delta.pad(numbers, 0.0F);
  }
};

void source_backward_row(const AdditiveSourceBackward& c, Walk& walk, Ahead& ahead, float* dots,
                         size_t row) {
  size_t place = row * walk.view.heads + walk.head;
  size_t own = row * walk.row_floats() + walk.column();
  float* dvalues = c.dvalues + own;
  QueryTile queries;
  TileNumbers u;
  Sums dscore;
  bool started = c.add;
  for (walk.start(row); walk.entry < walk.end; walk.entry += walk.count()) {
    size_t numbers = walk.count() * walk.heads;
    with_heads(walk.heads, [&]<int G>() {
      queries.template read<G>(walk, c.query_numbers, c.source_scores + place);
    });
    TileNumbers& a = queries.x;
    for_vectors(numbers, [&](size_t at, size_t, size_t) {
      store(a.at + at, decay(load<Native>(a.at + at)) * load<Native>(queries.inverse.at + at));
    });
    Tile tile = walk.tile(c.query_numbers, kQueryNumbers * walk.view.heads);
    tile.weights = a.at;
    tile.sum = dvalues;
    tile.scale = started ? kOnes : nullptr;
    tile.own = c.values + own;
    tile.dots = dots;
    run_parts<true, true>(tile, walk.layout, walk.heads, ahead);
    started = true;
    sum_dots(u, dots, numbers, walk.layout.lanes);
    for_vectors(numbers, [&](size_t at, size_t, size_t v) {
      dscore.at[v] += load<Native>(a.at + at) * load<Native>(queries.steep.at + at) *
                      (load<Native>(u.at + at) - load<Native>(queries.delta.at + at));
    });
  }
  if (!started)
    for (size_t d = 0; d < walk.heads * walk.view.width; ++d) dvalues[d] = 0.0F;
  HeadNumbers total = dscore.per_head(walk.heads);
  for (size_t g = 0; g < walk.heads; ++g) c.dsource_scores[place + g] = total.at[g];
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
  alignas(64) float dots[kTileNumbers * floats_in<Native>] = {};
  for_groups(c.view, first, last, begin, end, [&](Walk& walk, Ahead& ahead) {
    for (size_t row = begin; row < end; ++row) query_backward_row(c, walk, ahead, dots, row);
  });
}

void additive_source_backward(const AdditiveSourceBackward& c, size_t first, size_t last,
                              size_t begin, size_t end) {
  alignas(64) float dots[kTileNumbers * floats_in<Native>] = {};
  for_groups(c.view, first, last, begin, end, [&](Walk& walk, Ahead& ahead) {
    for (size_t row = begin; row < end; ++row) source_backward_row(c, walk, ahead, dots, row);
  });
}

}  // namespace spex::SPEX_ISA
