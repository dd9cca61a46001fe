#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/tensor/matrix.h>

#include <algorithm>
#include <cstring>

namespace spex {
namespace {

// Rows per block of a memory-bound loop: about 64 KiB of floats, so that small matrices stay on one
// thread and large ones are shared evenly.
size_t rows_per_block(size_t cols) {
  return std::max<size_t>(1, 16384 / std::max<size_t>(1, cols));
}

template <class Row>
void for_rows(MatrixView out, Row&& row) {
  parallel_for(out.rows, rows_per_block(out.cols), [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) row(r);
  });
}

void check_same_shape(ConstMatrixView a, ConstMatrixView b) {
  require(a.rows == b.rows && a.cols == b.cols, "matrices of {} x {} and {} x {} do not match",
          a.rows, a.cols, b.rows, b.cols);
}

}  // namespace

Matrix Matrix::zeros(size_t rows, size_t cols, MemoryTag tag) {
  Matrix result(rows, cols, tag);
  fill(result, 0.0F);
  return result;
}

void fill(MatrixView out, float value) {
  for_rows(out, [&](size_t r) { std::fill_n(out.row(r), out.cols, value); });
}

void copy(MatrixView out, ConstMatrixView in) {
  check_same_shape(out, in);
  for_rows(out, [&](size_t r) { std::memcpy(out.row(r), in.row(r), in.cols * sizeof(float)); });
}

void add(MatrixView out, ConstMatrixView in) {
  check_same_shape(out, in);
  for_rows(out, [&](size_t r) {
    float* to = out.row(r);
    const float* from = in.row(r);
    for (size_t c = 0; c < in.cols; ++c) to[c] += from[c];
  });
}

}  // namespace spex
