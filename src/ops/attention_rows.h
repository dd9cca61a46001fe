// Rows as the attention kernels want them: every head padded with zeros, narrow tables packed.
#pragma once

#include <spex/tensor/matrix.h>

#include "ops/attention_kernels.h"
#include "ops/attention_layout.h"

namespace spex {

// Rows with every head padded by zeros to `padded` floats; the original rows when nothing is
// missing.
class PaddedRows {
 public:
  PaddedRows() = default;
  PaddedRows(ConstMatrixView in, size_t heads, size_t padded);
  const float* data() const { return data_; }

 private:
  Matrix storage_;
  const float* data_ = nullptr;
};

// The inverse of padding; takes the matrix over when there is nothing to cut off.
Matrix unpadded(Matrix in, size_t heads, size_t width, MemoryTag tag);

// Two tables read by neighbour id. Narrow ones lie side by side: one cache line serves both.
class Table {
 public:
  Table() = default;
  Table(ConstMatrixView x, ConstMatrixView y, const AttentionLayout& layout);
  const TableView& view() const { return view_; }

 private:
  PaddedRows x_, y_;
  Matrix packed_;
  TableView view_;
};

}  // namespace spex
