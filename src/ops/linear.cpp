#include <spex/ops/linear.h>
#include <spex/tensor/gemm.h>

#include "ops/linear_parts.h"

namespace spex {

// dx = dy Wt, dW = xt dy, db = column sums of dy. Kept for backward: x and W.
Var linear(Tape& tape, const Var& x, const Var& weight, const Var& bias) {
  check_linear(x.cols(), weight, bias);
  ConstMatrixView in = x.value(), w = weight.value();
  size_t block = block_rows(w.rows, w.cols);
  Matrix y(x.rows(), w.cols, MemoryTag::activations);
  parallel_for(x.rows(), block, [&](size_t begin, size_t end) {
    MatrixView part = y.view().block(begin, end - begin);
    gemm(part, in.block(begin, end - begin), Transpose::no, w, Transpose::no);
    add_bias(part, data_of(bias));
  });
  return tape.result(std::move(y), {x, weight, bias},
                     [block, kx = x.keep(), kw = weight.keep(), dx = x.gradient(),
                      dw = weight.gradient(), db = bias.gradient()](ConstMatrixView dy) {
                       ConstMatrixView in = kx->view();
                       GradientTarget target = dx ? dx->target(in.rows, in.cols) : GradientTarget{};
                       Slices slices(in.rows, block);
                       WeightGradients gradients(slices, *kw, dw, db);
                       slices.for_blocks([&](size_t slice, size_t begin, size_t count) {
                         ConstMatrixView part = dy.block(begin, count);
                         gradients.add(slice, in.block(begin, count), part);
                         if (dx)
                           gemm(target.out.block(begin, count), part, Transpose::no, kw->view(),
                                Transpose::yes, target.add ? 1.0F : 0.0F);
                       });
                       gradients.finish();
                     });
}

}  // namespace spex
