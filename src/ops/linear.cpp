#include <spex/ops/linear.h>
#include <spex/tensor/gemm.h>

#include "ops/checks.h"
#include "ops/linear_parts.h"

namespace spex {
namespace {

// out = x W + b, or what is in it plus that.
void product(MatrixView out, ConstMatrixView x, ConstMatrixView w, const float* bias, bool add) {
  parallel_for(x.rows, block_rows(w.rows, w.cols), [&](size_t begin, size_t end) {
    MatrixView part = out.block(begin, end - begin);
    gemm(part, x.block(begin, end - begin), Transpose::no, w, Transpose::no, add ? 1.0F : 0.0F);
    add_bias(part, bias);
  });
}

// dx = dy Wt, dW = xt dy, db = column sums of dy. Kept for backward: x and W.
Tape::Backward undo_product(const Var& x, const Var& weight, const Var& bias) {
  return [kx = x.keep(), kw = weight.keep(), dx = x.gradient(), dw = weight.gradient(),
          db = bias.gradient()](ConstMatrixView dy) {
    ConstMatrixView in = kx->view(), w = kw->view();
    GradientTarget target = dx ? dx->target(in.rows, in.cols) : GradientTarget{};
    Slices slices(in.rows, block_rows(w.rows, w.cols));
    WeightGradients gradients(slices, *kw, dw, db);
    slices.for_blocks([&](size_t slice, size_t begin, size_t count) {
      ConstMatrixView part = dy.block(begin, count);
      gradients.add(slice, in.block(begin, count), part);
      if (dx)
        gemm(target.out.block(begin, count), part, Transpose::no, w, Transpose::yes,
             target.add ? 1.0F : 0.0F);
    });
    gradients.finish();
  };
}

}  // namespace

Var linear(Tape& tape, const Var& x, const Var& weight, const Var& bias) {
  check_linear(x.cols(), weight, bias);
  Matrix y(x.rows(), weight.cols(), MemoryTag::activations);
  product(y, x.value(), weight.value(), data_of(bias), false);
  return tape.result(std::move(y), {x, weight, bias}, undo_product(x, weight, bias));
}

// dy is y's gradient as it is. Kept for backward besides: nothing.
Var add_linear(Tape& tape, Var y, const Var& x, const Var& weight, const Var& bias) {
  check_linear(x.cols(), weight, bias);
  require_shape(y, x.rows(), weight.cols(), "add_linear");
  require_packed(y.value(), "add_linear");
  Matrix sum = Tape::buffer_of(y);
  if (sum.data() != y.value().data) copy(sum, y.value());
  product(sum, x.value(), weight.value(), data_of(bias), true);
  return tape.result_owning(Tape::share(std::move(sum)), {y, x, weight, bias},
                            [undo = undo_product(x, weight, bias), gy = y.gradient()](Matrix dy) {
                              undo(dy.view());
                              if (gy) gy->give(std::move(dy));
                            });
}

}  // namespace spex
