#include "ops/aggregate_kernels.h"
#include "ops/neighbour_tiles.h"

namespace spex::SPEX_ISA {
namespace {

inline void tile_weights(float* weights, const WeightedSums& c, size_t row, size_t entry,
                         size_t count) {
  float factor = c.row_factor ? c.row_factor[row] : 1.0F;
  for (size_t e = 0; e < count; ++e) weights[e] = factor;
  if (c.values)
    for (size_t e = 0; e < count; ++e) weights[e] *= c.values[entry + e];
  if (c.id_factor)
    for (size_t e = 0; e < count; ++e) weights[e] *= c.id_factor[c.rows.ids[entry + e]];
}

}  // namespace

void weighted_sums(const WeightedSums& c, size_t first, size_t last, size_t begin, size_t end) {
  static constexpr float kOne = 1.0F;
  HeadLayout layout(last - first);
  Ahead ahead(c.rows, begin, end, c.prefetch);
  float weights[kTileNumbers];
  Tile tile;
  tile.table = c.x + first;
  tile.stride = c.width;
  tile.weights = weights;
  for (size_t row = begin; row < end; ++row) {
    size_t entry = c.rows.begin(row), row_end = c.rows.end(row);
    tile.sum = c.y + row * c.width + first;
    tile.scale = c.add ? &kOne : nullptr;
    if (entry == row_end && !c.add)
      for (size_t i = 0; i < last - first; ++i) tile.sum[i] = 0.0F;
    for (; entry < row_end; entry += tile.count) {
      tile.ids = c.rows.ids + entry;
      tile.count = row_end - entry < kTileNumbers ? row_end - entry : kTileNumbers;
      tile_weights(weights, c, row, entry, tile.count);
      run_parts<true, false>(tile, layout, 1, ahead);
      tile.scale = &kOne;
    }
  }
}

}  // namespace spex::SPEX_ISA
