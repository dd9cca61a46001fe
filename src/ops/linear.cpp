// N rows, I inputs, O outputs. Work is cut into blocks of rows that stay in the cache between the
// matrix product and what follows it (bias, ReLU), so those cost no memory traffic of their own.
#include <spex/core/threads.h>
#include <spex/ops/linear.h>
#include <spex/tensor/gemm.h>

#include <algorithm>

#include "ops/bias_relu.h"
#include "ops/dropout.h"

namespace spex {
namespace {

// About 256 KiB of the wider side: the block of x and of y both fit the second-level cache. A
// multiple of 8: a random number of dropout serves 8 places.
size_t block_rows(size_t inputs, size_t outputs) {
  return std::clamp<size_t>(65536 / std::max(inputs, outputs), 64, 4096) / 8 * 8;
}

// finish(block, first row) does what follows the product.
template <class Finish>
Matrix linear_forward(ConstMatrixView x, ConstMatrixView w, Finish finish) {
  Matrix y(x.rows, w.cols, MemoryTag::activations);
  parallel_for(x.rows, block_rows(w.rows, w.cols), [&](size_t begin, size_t end) {
    MatrixView block = y.view().block(begin, end - begin);
    gemm(block, x.block(begin, end - begin), Transpose::no, w, Transpose::no);
    finish(block, begin);
  });
  return y;
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

// The result of a ReLU behind the product, and what dropout multiplied it by.
struct Activated {
  std::shared_ptr<const Value> y;  // null: there was none
  float factor = 1.0F;
};

// dx = dy Wt, dW = xt dy, db = column sums of dy. Each slice of rows sums dW and db on its own; the
// slices are fixed and added in order, so the number of threads does not show in the result.
void linear_backward(const LinearGradients& out, MatrixView dy, ConstMatrixView x,
                     ConstMatrixView w, const Activated& activated) {
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
      if (activated.y)
        mask_by_sign(part, activated.y->view().block(begin, count), activated.factor);
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

// Kept for backward: x (for dW), W (for dx) and what an activation left.
Var record(Tape& tape, std::shared_ptr<const Value> y, const Var& x, const Var& weight,
           const Var& bias, const Activated& activated) {
  return tape.result_owning(
      std::move(y), {x, weight, bias},
      [kx = x.keep(), kw = weight.keep(), activated, dx = x.gradient(), dw = weight.gradient(),
       db = bias.gradient()](Matrix dy) {
        ConstMatrixView xv = kx->view();
        ConstMatrixView wv = kw->view();
        LinearGradients out;
        if (dx) out.dx = dx->target(xv.rows, xv.cols);
        if (dw) out.dw = dw->accumulator(wv.rows, wv.cols);
        if (db) out.db = db->accumulator(1, wv.cols).data;
        linear_backward(out, dy, xv, wv, activated);
      });
}

}  // namespace

Var linear(Tape& tape, const Var& x, const Var& weight, const Var& bias, Activation activation) {
  check_linear(x.cols(), weight, bias);
  const float* b = bias ? bias.value().data : nullptr;
  bool relu = activation == Activation::relu;
  auto y = Tape::share(linear_forward(x.value(), weight.value(), [&](MatrixView block, size_t) {
    if (b || relu) add_bias_and_activate(block, b, activation);
  }));
  return record(tape, y, x, weight, bias, {relu ? y : nullptr});
}

Var linear_relu_dropped(Tape& tape, const Var& x, const Var& weight, const Var& bias, float rate,
                        const Random& random) {
  DropoutMask mask(rate, random);
  if (mask.keeps_all()) return linear(tape, x, weight, bias, Activation::relu);
  check_linear(x.cols(), weight, bias);
  const float* b = bias ? bias.value().data : nullptr;
  auto y = Tape::share(linear_forward(x.value(), weight.value(), [&](MatrixView block, size_t row) {
    if (b) add_bias_and_activate(block, b, Activation::none);
    mask.drop_relu(block.data, row * block.cols, block.size());
  }));
  return record(tape, y, x, weight, bias, {y, mask.factor()});
}

}  // namespace spex
