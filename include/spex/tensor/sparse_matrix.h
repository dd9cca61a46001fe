// A matrix in compressed sparse rows: features that are mostly zero stay this way up to the first
// layer.
#pragma once

#include <spex/core/memory.h>

#include <cstdint>

namespace spex {

struct SparseMatrix {
  size_t rows = 0;
  size_t cols = 0;
  SharedArray<uint64_t> offsets;  // rows + 1
  SharedArray<uint32_t> columns;  // ascending within a row
  SharedArray<float> values;

  size_t nonzeros() const { return columns.size(); }
};

}  // namespace spex
