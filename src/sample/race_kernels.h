#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dispatch.h"

namespace spex {

// keys[i] = -log(1 - u_i) / (score_i + 1e-8), u_i the i-th random word as a fraction. Scores are
// the bits of 16-bit floats, or null for all ones.
SPEX_KERNEL(void race_keys(float* keys, const uint32_t* words, const uint16_t* scores,
                           size_t count))

}  // namespace spex
