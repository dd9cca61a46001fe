#include "ops/additive_walk.h"

namespace spex::SPEX_ISA {
namespace {

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

}  // namespace

void additive_forward(const AdditiveForward& c, size_t first, size_t last, size_t begin,
                      size_t end) {
  for_groups(c.view, first, last, begin, end, [&](Walk& walk, Ahead& ahead) {
    for (size_t row = begin; row < end; ++row) forward_row(c, walk, ahead, row);
  });
}

}  // namespace spex::SPEX_ISA
