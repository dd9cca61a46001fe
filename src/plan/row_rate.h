// How long this machine takes to fetch a random row of a table.
#pragma once

#include <cstddef>

namespace spex {

// Seconds per row, all threads reading, measured once for each size (a fraction of a second in
// all).
double row_seconds(size_t row_bytes, size_t rows);

}  // namespace spex
