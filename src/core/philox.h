// Philox4x32-10 for many consecutive counters.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dispatch.h"

namespace spex {

// The counter of block i is (first + i as 64 bits, high[0], high[1]).
struct PhiloxStream {
  uint64_t first;
  uint32_t high[2];
  uint32_t key[2];
};

// words[4 i .. 4 i + 3] = philox(counter i), for `count` blocks.
SPEX_KERNEL(void philox(uint32_t* words, size_t count, const PhiloxStream& stream))

}  // namespace spex
