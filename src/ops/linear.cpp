// N rows, I inputs, O outputs. Work is cut into blocks of rows that stay in the cache between the
// matrix product and what follows it (bias, ReLU), so those cost no memory traffic of their own.
#include <spex/core/threads.h>
#include <spex/ops/linear.h>
#include <spex/tensor/gemm.h>

#include <algorithm>

#include "ops/bias_relu.h"

namespace spex {
namespace {

// About 256 KiB of the wider side: the block of x and of y both fit the second-level cache.
size_t block_rows(size_t inputs, size_t outputs) {
  return std::clamp<size_t>(65536 / std::max(inputs, outputs), 64, 4096);
}

void linear_forward(MatrixView y, ConstMatrixView x, ConstMatrixView w, const float* bias,
                    Activation activation) {
  parallel_for(x.rows, block_rows(w.rows, w.cols), [&](size_t begin, size_t end) {
    MatrixView block = y.block(begin, end - begin);
    gemm(block, x.block(begin, end - begin), Transpose::no, w, Transpose::no);
    if (bias || activation == Activation::relu) add_bias_and_activate(block, bias, activation);
  });
}

void add_column_sums(float* sums, ConstMatrixView dy) {
  for (size_t r = 0; r < dy.rows; ++r)
    for (size_t c = 0; c < dy.cols; ++c) sums[c] += dy(r, c);
}

struct LinearGradients {
  GradientTarget dx;
  MatrixView dw;        // added to
  float* db = nullptr;  // added to
};

// dx = dy Wt, dW = xt dy, db = column sums of dy. Each slice of rows sums dW and db on its own; the
// slices are fixed and added in order, so the number of threads does not show in the result.
void linear_backward(const LinearGradients& out, MatrixView dy, ConstMatrixView x,
                     ConstMatrixView w, const ConstMatrixView* relu_output) {
  size_t rows = block_rows(w.rows, w.cols);
  size_t blocks = (x.rows + rows - 1) / rows;
  size_t slices = std::min<size_t>(blocks, 16);
  Matrix dw(slices * w.rows, out.dw.data ? w.cols : 0, MemoryTag::gradients);
  Matrix db = Matrix::zeros(slices, out.db ? w.cols : 0, MemoryTag::gradients);
  parallel_blocks(slices, [&](size_t slice) {
    size_t first = blocks * slice / slices;
    size_t last = blocks * (slice + 1) / slices;
    for (size_t block = first; block < last; ++block) {
      size_t begin = block * rows;
      size_t count = std::min(x.rows - begin, rows);
      MatrixView part = dy.block(begin, count);
      if (relu_output) mask_by_sign(part, relu_output->block(begin, count));
      if (out.db) add_column_sums(db.view().row(slice), part);
      if (out.dw.data)
        gemm(dw.view().block(slice * w.rows, w.rows), x.block(begin, count), Transpose::yes, part,
             Transpose::no, block == first ? 0.0F : 1.0F);
      if (out.dx.out.data)
        gemm(out.dx.out.block(begin, count), part, Transpose::no, w, Transpose::yes,
             out.dx.add ? 1.0F : 0.0F);
    }
  });
  for (size_t slice = 0; slice < slices; ++slice) {
    if (out.dw.data) add(out.dw, dw.view().block(slice * w.rows, w.rows));
    if (out.db) add_column_sums(out.db, db.view().block(slice, 1));
  }
}

}  // namespace

Var linear(Tape& tape, const Var& x, const Var& weight, const Var& bias, Activation activation) {
  bool has_bias = bias.keep() != nullptr;
  check_linear(x.cols(), weight, bias);
  Matrix y(x.rows(), weight.cols(), MemoryTag::activations);
  linear_forward(y, x.value(), weight.value(), has_bias ? bias.value().data : nullptr, activation);

  // Kept for backward: x (for dW), W (for dx) and, under ReLU, y.
  auto shared_y = Tape::share(std::move(y));
  auto kept_y = activation == Activation::relu ? shared_y : nullptr;
  return tape.result_owning(
      std::move(shared_y), {x, weight, bias},
      [kx = x.keep(), kw = weight.keep(), ky = std::move(kept_y), dx = x.gradient(),
       dw = weight.gradient(), db = bias.gradient()](Matrix dy) {
        ConstMatrixView xv = kx->view();
        ConstMatrixView wv = kw->view();
        LinearGradients out;
        if (dx) out.dx = dx->target(xv.rows, xv.cols);
        if (dw) out.dw = dw->accumulator(wv.rows, wv.cols);
        if (db) out.db = db->accumulator(1, wv.cols).data;
        ConstMatrixView yv = ky ? ky->view() : ConstMatrixView{};
        linear_backward(out, dy, xv, wv, ky ? &yv : nullptr);
      });
}

}  // namespace spex
