// How operations over neighbourhoods are cut for the threads: into blocks of rows, and wide tables
// into strips of columns, one strip after the other, so that the strip that all threads gather
// from stays in the cache where the whole table would not.
#pragma once

#include <spex/core/threads.h>

#include <algorithm>

namespace spex {

inline constexpr size_t kStripFloats = 64;
inline constexpr size_t kCacheFloats = 1 << 16;  // a table of so many needs no fetching ahead

// Calls body(first unit, last unit, first row, last row), a unit being `floats` columns: a head of
// attention, for instance. A strip is at least one of them.
template <class Body>
void for_strips(size_t rows, size_t units, size_t floats, Body&& body) {
  constexpr size_t kBlockRows = 128;
  size_t strip_units = std::max<size_t>(1, kStripFloats / floats);
  size_t strips = (units + strip_units - 1) / strip_units;
  size_t blocks = (rows + kBlockRows - 1) / kBlockRows;
  parallel_blocks(strips * blocks, [&](size_t task) {
    size_t strip = task / blocks, block = task % blocks;
    body(units * strip / strips, units * (strip + 1) / strips, block * kBlockRows,
         std::min(rows, (block + 1) * kBlockRows));
  });
}

}  // namespace spex
