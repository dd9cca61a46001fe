#include "ops/linear_parts.h"

#include <spex/core/error.h>
#include <spex/tensor/gemm.h>

namespace spex {
namespace {

void add_column_sums(float* sums, ConstMatrixView dy) {
  for (size_t r = 0; r < dy.rows; ++r)
    for (size_t c = 0; c < dy.cols; ++c) sums[c] += dy(r, c);
}

}  // namespace

void check_linear(size_t inputs, const Var& weight, const Var& bias) {
  require(inputs == weight.rows(), "linear: {} columns meet a weight of {} rows", inputs,
          weight.rows());
  if (!bias) return;
  require(bias.rows() == 1 && bias.cols() == weight.cols(),
          "linear: a bias of {} x {} for {} outputs", bias.rows(), bias.cols(), weight.cols());
}

size_t block_rows(size_t inputs, size_t outputs) {
  return std::clamp<size_t>(65536 / std::max(inputs, outputs), 64, 4096) / 8 * 8;
}

void add_bias(MatrixView y, const float* bias) {
  if (!bias) return;
  for (size_t r = 0; r < y.rows; ++r) {
    float* row = y.row(r);
    for (size_t c = 0; c < y.cols; ++c) row[c] += bias[c];
  }
}

Slices::Slices(size_t all_rows, size_t block_size)
    : rows(all_rows),
      block(block_size),
      blocks((rows + block - 1) / block),
      count(std::min<size_t>(blocks, 16)) {}

WeightGradients::WeightGradients(const Slices& slices, const Value& weight,
                                 std::shared_ptr<Gradient> dw, std::shared_ptr<Gradient> db)
    : rows_(weight.view().rows),
      cols_(weight.view().cols),
      slices_(slices.count),
      dw_(std::move(dw)),
      db_(std::move(db)),
      dw_parts_(slices_ * rows_, dw_ ? cols_ : 0, MemoryTag::gradients),
      db_parts_(Matrix::zeros(slices_, db_ ? cols_ : 0, MemoryTag::gradients)),
      begun_(slices_, 0) {}

void WeightGradients::add(size_t slice, ConstMatrixView x, ConstMatrixView dy) {
  if (db_) add_column_sums(db_parts_.view().row(slice), dy);
  if (dw_)
    gemm(dw_parts_.view().block(slice * rows_, rows_), x, Transpose::yes, dy, Transpose::no,
         begun_[slice] ? 1.0F : 0.0F);
  begun_[slice] = 1;
}

void WeightGradients::finish() {
  for (size_t slice = 0; slice < slices_; ++slice) {
    if (dw_)
      spex::add(dw_->accumulator(rows_, cols_), dw_parts_.view().block(slice * rows_, rows_));
    if (db_) add_column_sums(db_->accumulator(1, cols_).data, db_parts_.view().block(slice, 1));
  }
}

}  // namespace spex
