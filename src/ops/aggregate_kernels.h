#pragma once

#include "core/dispatch.h"
#include "ops/neighbour_rows.h"

namespace spex {

// y[i] = row_factor[i] sum over the entries e of row i of values[e] id_factor[ids[e]] x[ids[e]].
// What is null counts as ones.
struct WeightedSums {
  NeighbourRows rows;
  const float* row_factor = nullptr;
  const float* id_factor = nullptr;
  const float* values = nullptr;
  const float* x = nullptr;
  size_t width = 0;  // of x and y
  bool prefetch = true;
  float* y = nullptr;
  bool add = false;  // to what y holds
};

// The columns [first, last) of the rows [begin, end). Disjoint ranges write disjoint places.
SPEX_KERNEL(void weighted_sums(const WeightedSums& c, size_t first, size_t last, size_t begin,
                               size_t end))

}  // namespace spex
