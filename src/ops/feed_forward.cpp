#include <spex/ops/linear.h>
#include <spex/tensor/gemm.h>

#include "ops/dropout.h"
#include "ops/linear_parts.h"

namespace spex {
namespace {

// h = dropout(max(0, x U + u)) of a block of rows, of which `first` is the first.
void make_hidden(MatrixView h, ConstMatrixView x, ConstMatrixView up, const float* bias,
                 const DropoutMask& mask, size_t first) {
  gemm(h, x, Transpose::no, up, Transpose::no);
  add_bias(h, bias);
  mask.drop_relu(h.data, first * h.cols, h.size());
}

// dh <- factor dh where h > 0: the gradient of ReLU and of dropout behind it.
void mask_by_sign(MatrixView dh, ConstMatrixView h, float factor) {
  float* __restrict d = dh.data;
  const float* __restrict out = h.data;
  for (size_t i = 0; i < dh.size(); ++i) {
    float whole = factor * d[i];  // in any case: a conditional read would not become a vector
    d[i] = out[i] > 0.0F ? whole : 0.0F;
  }
}

}  // namespace

// With h the hidden layer: dh = dy Dt where h > 0, dx = dh Ut; dD = ht dy, dU = xt dh. Kept for
// backward: x and the weights.
Var feed_forward(Tape& tape, const Var& x, const FeedForward& weights, float rate,
                 const Random& random) {
  const auto& [up, up_bias, down, down_bias] = weights;
  check_linear(x.cols(), up, up_bias);
  check_linear(up.cols(), down, down_bias);
  DropoutMask mask(rate, random);
  size_t width = up.cols(), block = block_rows(width, std::max(x.cols(), down.cols()));
  Matrix y(x.rows(), down.cols(), MemoryTag::activations);
  parallel_for(x.rows(), block, [&](size_t begin, size_t end) {
    Matrix h(end - begin, width, MemoryTag::activations);
    make_hidden(h, x.value().block(begin, h.rows()), up.value(), data_of(up_bias), mask, begin);
    MatrixView part = y.view().block(begin, h.rows());
    gemm(part, h, Transpose::no, down.value(), Transpose::no);
    add_bias(part, data_of(down_bias));
  });
  return tape.result(
      std::move(y), {x, up, up_bias, down, down_bias},
      [mask, block, width, weights, kx = x.keep(), dx = x.gradient()](ConstMatrixView dy) {
        const auto& [up, up_bias, down, down_bias] = weights;
        ConstMatrixView in = kx->view();
        GradientTarget target = dx ? dx->target(in.rows, in.cols) : GradientTarget{};
        Slices slices(in.rows, block);
        WeightGradients up_gradients(slices, *up.keep(), up.gradient(), up_bias.gradient());
        WeightGradients down_gradients(slices, *down.keep(), down.gradient(), down_bias.gradient());
        slices.for_blocks([&](size_t slice, size_t begin, size_t count) {
          ConstMatrixView rows = in.block(begin, count), part = dy.block(begin, count);
          Matrix h(count, width, MemoryTag::activations), dh(count, width, MemoryTag::gradients);
          make_hidden(h, rows, up.value(), data_of(up_bias), mask, begin);
          down_gradients.add(slice, h, part);
          gemm(dh, part, Transpose::no, down.value(), Transpose::yes);
          mask_by_sign(dh, h, mask.factor());
          up_gradients.add(slice, rows, dh);
          if (dx)
            gemm(target.out.block(begin, count), dh, Transpose::no, up.value(), Transpose::yes,
                 target.add ? 1.0F : 0.0F);
        });
        up_gradients.finish();
        down_gradients.finish();
      });
}

}  // namespace spex
