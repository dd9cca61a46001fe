// Drawing a row: a key for every edge, the edges with the k smallest keys, their log-scores.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dispatch.h"

namespace spex {

// Rows are processed in whole vectors: keys and words must have room for so many more.
inline constexpr size_t kRowPadding = 16;

// keys[i] = the bits of -log(1 - u_i) / score_i, u_i the i-th random word as a fraction: positive
// floats, whose bits order as they do. Scores are the bits of 16-bit floats, or null for all ones.
// What is not above zero counts as 1e-30: such an edge comes after all others. The same keys on
// every CPU.
SPEX_KERNEL(void race_keys(int32_t* keys, const uint32_t* words, const uint16_t* scores,
                           size_t count))

// places = base + i for the k smallest of the non-negative keys, ascending in i; of equal keys the
// first. 0 < k < count.
SPEX_KERNEL(void select_smallest(uint64_t* places, int32_t* keys, size_t count, size_t k,
                                 uint64_t base))

// out[i] = log(score_i + 1e-8).
SPEX_KERNEL(void log_scores(float* out, const uint16_t* scores, size_t count))

}  // namespace spex
