#include "study/distance_kernels.h"

#include "core/vectors.h"

namespace spex::SPEX_ISA {
namespace {

constexpr size_t kRows = 4;  // of a tile: as many sums at once as hide the latency of one

// Rows s .. s + kRows - 1, columns t .. t + kLanes - 1. Lanes are vectors, not dimensions, so that
// rows of a few scores waste nothing and nothing is summed across lanes.
inline void tile(float* distances, const float* columns, size_t count, size_t dimensions, size_t s,
                 size_t t) {
  Floats sums[kRows] = {};
  for (size_t d = 0; d < dimensions; ++d) {
    const float* column = columns + d * count;
    Floats others = load<Floats>(column + t);
    for (size_t r = 0; r < kRows; ++r) {
      Floats difference = others - column[s + r];
      sums[r] += difference * difference;
    }
  }
  for (size_t r = 0; r < kRows; ++r)
    for (size_t l = 0; l < kLanes; ++l)
      distances[(s + r) * count + t + l] = __builtin_sqrtf(sums[r][l]);
}

}  // namespace

void pair_distances(float* distances, const float* columns, size_t count, size_t dimensions) {
  for (size_t s = 0; s < count; s += kRows)
    for (size_t t = s / kLanes * kLanes; t < count; t += kLanes)
      tile(distances, columns, count, dimensions, s, t);
  for (size_t s = 0; s < count; ++s)
    for (size_t t = 0; t < s; ++t) distances[s * count + t] = distances[t * count + s];
}

}  // namespace spex::SPEX_ISA
