// y = x W + b for x in compressed sparse rows: a row of y is a weighted sum of rows of W.
#include <spex/core/threads.h>
#include <spex/ops/linear.h>

#include <algorithm>

#include "ops/checks.h"
#include "ops/columns.h"
#include "ops/linear_parts.h"
#include "ops/sparse_kernels.h"

namespace spex {
namespace {

SparseRows rows_of(const SparseMatrix& x) {
  return {x.offsets.data(), x.columns.data(), x.values.data(), x.rows};
}

size_t sparse_block_rows(size_t cols) {
  return std::clamp<size_t>(16384 / cols, 16, 512);
}

// dW = xt dy. Each block of columns of x, that is of rows of dW, is one thread's own, which walks
// all rows of x in order: no atomics, no second copy of dW, and the sums do not depend on how the
// columns are cut. More blocks balance the threads better and cost more searching.
void add_weight_gradient(MatrixView dw, const SparseMatrix& x, ConstMatrixView dy) {
  size_t threads = static_cast<size_t>(spex::threads());
  size_t blocks = threads == 1 ? 1 : std::min<size_t>({2 * threads, 32, x.cols});
  parallel_blocks(blocks, [&](size_t block) {
    auto first = static_cast<uint32_t>(x.cols * block / blocks);
    auto last = static_cast<uint32_t>(x.cols * (block + 1) / blocks);
    SPEX_CALL(sparse_transposed_product, dw.data, rows_of(x), dy.data, dy.cols, first, last);
  });
}

void add_row(MatrixView out, const std::vector<double>& row) {
  for (size_t c = 0; c < out.cols; ++c) out(0, c) += static_cast<float>(row[c]);
}

}  // namespace

// dW = xt dy, db = column sums of dy. Kept for backward: x, which is the caller's.
Var linear(Tape& tape, const SparseMatrix& x, const Var& weight, const Var& bias) {
  check_linear(x.cols, weight, bias);
  require_packed(weight.value(), "linear");
  ConstMatrixView w = weight.value();
  Matrix y(x.rows, w.cols, MemoryTag::activations);
  parallel_for(x.rows, sparse_block_rows(w.cols), [&](size_t begin, size_t end) {
    SPEX_CALL(sparse_product, y.data(), rows_of(x), w.data, w.cols, begin, end);
    add_bias(y.view().block(begin, end - begin), data_of(bias));
  });
  return tape.result(std::move(y), {weight, bias},
                     [&x, dw = weight.gradient(), db = bias.gradient()](ConstMatrixView dy) {
                       if (db) add_row(db->accumulator(1, dy.cols), column_sums(dy));
                       if (dw) add_weight_gradient(dw->accumulator(x.cols, dy.cols), x, dy);
                     });
}

}  // namespace spex
