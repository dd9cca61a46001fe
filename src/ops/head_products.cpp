// y_rh = x_rh . v_h; dx_rh = dy_rh v_h; dv_h = sum_r dy_rh x_rh, block by block of rows, then over
// the blocks in order.
#include <spex/core/threads.h>
#include <spex/ops/additive_attention.h>

#include "ops/checks.h"
#include "ops/head_kernels.h"

namespace spex {
namespace {

constexpr size_t kBlockRows = 512;

void add_vector_gradient(MatrixView dv, ConstMatrixView dy, ConstMatrixView x) {
  Matrix parts((x.rows + kBlockRows - 1) / kBlockRows, x.cols, MemoryTag::gradients);
  parallel_for(x.rows, kBlockRows, [&](size_t begin, size_t end) {
    HeadRows shape{end - begin, dy.cols, x.cols / dy.cols};
    SPEX_CALL(head_products_dv, parts.view().row(begin / kBlockRows), dy.row(begin), x.row(begin),
              shape);
  });
  for (size_t c = 0; c < x.cols; ++c) {
    double sum = 0;
    for (size_t block = 0; block < parts.rows(); ++block) sum += parts(block, c);
    dv(0, c) += static_cast<float>(sum);
  }
}

void values_gradient(GradientTarget dx, ConstMatrixView dy, const float* v) {
  parallel_for(dy.rows, kBlockRows, [&](size_t begin, size_t end) {
    HeadRows shape{end - begin, dy.cols, dx.out.cols / dy.cols};
    SPEX_CALL(head_products_dx, dx.out.row(begin), dy.row(begin), v, shape, dx.add);
  });
}

}  // namespace

// Kept for backward: x and the vector.
Var head_products(Tape& tape, const Var& x, const Var& vector, size_t heads) {
  require(heads > 0 && x.cols() > 0 && x.cols() % heads == 0,
          "head products: {} heads do not divide a width of {}", heads, x.cols());
  require_shape(vector, 1, x.cols(), "head products, vector");
  require_packed(x.value(), "head products");
  Matrix y(x.rows(), heads, MemoryTag::activations);
  parallel_for(x.rows(), kBlockRows, [&](size_t begin, size_t end) {
    HeadRows shape{end - begin, heads, x.cols() / heads};
    SPEX_CALL(head_products, y.view().row(begin), x.value().row(begin), vector.value().data, shape);
  });
  return tape.result(std::move(y), {x, vector},
                     [kx = x.keep(), kv = vector.keep(), dx = x.gradient(),
                      dv = vector.gradient()](ConstMatrixView dy) {
                       ConstMatrixView in = kx->view();
                       if (dv) add_vector_gradient(dv->accumulator(1, in.cols), dy, in);
                       if (dx) values_gradient(dx->target(in.rows, in.cols), dy, kv->view().data);
                     });
}

}  // namespace spex
