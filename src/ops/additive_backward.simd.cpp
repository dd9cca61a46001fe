#include "ops/additive_walk.h"

namespace spex::SPEX_ISA {
namespace {

constexpr float kOnes[kMostHeads] = {1, 1, 1, 1, 1, 1, 1, 1};

inline Floats leaky_slope(Floats z, float slope) {
  return z > 0.0F ? Floats{} + 1.0F : Floats{} + slope;
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
