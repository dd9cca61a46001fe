#pragma once

#include <cstddef>

#include "core/dispatch.h"

namespace spex {

// Vectors are padded to a multiple of this many: the widest vector there is, in floats.
inline constexpr size_t kDistanceLanes = 16;

// distances[s * count + t] = |x_s - x_t| for vectors given as columns[d * count + s]; count is a
// multiple of kDistanceLanes.
SPEX_KERNEL(void pair_distances(float* distances, const float* columns, size_t count,
                                size_t dimensions))

}  // namespace spex
