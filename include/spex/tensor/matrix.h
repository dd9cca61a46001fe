// Row-major float matrices and views of them. A Matrix owns its storage (64-byte aligned, huge
// pages when large, counted by tag) and can only be moved; views are cheap and own nothing.
#pragma once

#include <spex/core/memory.h>

#include <cstddef>
#include <span>

namespace spex {

struct ConstMatrixView {
  const float* data = nullptr;
  size_t rows = 0;
  size_t cols = 0;
  size_t stride = 0;  // floats from one row to the next

  const float* row(size_t r) const { return data + r * stride; }
  float operator()(size_t r, size_t c) const { return data[r * stride + c]; }
  size_t size() const { return rows * cols; }
  ConstMatrixView block(size_t first_row, size_t row_count) const {
    return {row(first_row), row_count, cols, stride};
  }
  ConstMatrixView columns(size_t first, size_t count) const {
    return {data + first, rows, count, stride};
  }
};

struct MatrixView {
  float* data = nullptr;
  size_t rows = 0;
  size_t cols = 0;
  size_t stride = 0;

  float* row(size_t r) const { return data + r * stride; }
  float& operator()(size_t r, size_t c) const { return data[r * stride + c]; }
  size_t size() const { return rows * cols; }
  MatrixView block(size_t first_row, size_t row_count) const {
    return {row(first_row), row_count, cols, stride};
  }
  MatrixView columns(size_t first, size_t count) const {
    return {data + first, rows, count, stride};
  }
  operator ConstMatrixView() const { return {data, rows, cols, stride}; }  // NOLINT
};

class Matrix {
 public:
  Matrix() = default;
  Matrix(size_t rows, size_t cols, MemoryTag tag)
      : rows_(rows), cols_(cols), data_(rows * cols, tag) {}
  static Matrix zeros(size_t rows, size_t cols, MemoryTag tag);

  size_t rows() const { return rows_; }
  size_t cols() const { return cols_; }
  size_t size() const { return data_.size(); }
  bool empty() const { return data_.empty(); }
  float* data() { return data_.data(); }
  const float* data() const { return data_.data(); }
  std::span<float> span() { return data_.span(); }
  std::span<const float> span() const { return data_.span(); }
  float& operator()(size_t r, size_t c) { return data_[r * cols_ + c]; }
  float operator()(size_t r, size_t c) const { return data_[r * cols_ + c]; }
  MatrixView view() { return {data(), rows_, cols_, cols_}; }
  ConstMatrixView view() const { return {data(), rows_, cols_, cols_}; }
  operator MatrixView() { return view(); }             // NOLINT
  operator ConstMatrixView() const { return view(); }  // NOLINT

 private:
  size_t rows_ = 0;
  size_t cols_ = 0;
  Buffer<float> data_;
};

void fill(MatrixView out, float value);
void copy(MatrixView out, ConstMatrixView in);
void add(MatrixView out, ConstMatrixView in);  // out += in

}  // namespace spex
