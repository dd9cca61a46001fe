#include "ops/attention_rows.h"

#include <spex/core/threads.h>

#include <cstring>

namespace spex {

PaddedRows::PaddedRows(ConstMatrixView in, size_t heads, size_t padded) {
  size_t width = in.cols / heads;
  if (width == padded && in.stride == in.cols) {
    data_ = in.data;
    return;
  }
  storage_ = Matrix::zeros(in.rows, heads * padded, MemoryTag::activations);
  parallel_for(in.rows, 1024, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r)
      for (size_t h = 0; h < heads; ++h)
        std::memcpy(storage_.view().row(r) + h * padded, in.row(r) + h * width,
                    width * sizeof(float));
  });
  data_ = storage_.data();
}

Matrix unpadded(Matrix in, size_t heads, size_t width, MemoryTag tag) {
  size_t padded = in.cols() / heads;
  if (padded == width) return in;
  Matrix out(in.rows(), heads * width, tag);
  parallel_for(in.rows(), 1024, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r)
      for (size_t h = 0; h < heads; ++h)
        std::memcpy(out.view().row(r) + h * width, in.view().row(r) + h * padded,
                    width * sizeof(float));
  });
  return out;
}

Table::Table(ConstMatrixView x, ConstMatrixView y, const AttentionLayout& layout) {
  bool packed = layout.kind == LayoutKind::packed;
  if (!packed && layout.row() == x.cols) {
    view_ = {x.data, y.data, y.stride, x.stride, 0};
    return;
  }
  if (!packed) {
    x_ = PaddedRows(x, layout.heads, layout.padded);
    if (y.data != x.data) y_ = PaddedRows(y, layout.heads, layout.padded);
    view_ = {x_.data(), y.data != x.data ? y_.data() : x_.data(), layout.row(), layout.row(), 0};
    return;
  }
  packed_ = Matrix(x.rows, 16, MemoryTag::activations);
  parallel_for(x.rows, 4096, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      float* to = packed_.view().row(r);
      for (size_t d = 0; d < 8; ++d) {
        to[d] = d < x.cols ? x(r, d) : 0.0F;
        to[8 + d] = d < y.cols ? y(r, d) : 0.0F;
      }
    }
  });
  view_ = {packed_.data(), packed_.data() + 8, 16, 16, 0};
}

}  // namespace spex
