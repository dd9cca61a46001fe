// Layer norm and row normalisation: each row by itself. Kept for backward: x; a row's statistics
// are computed again, since the row must be read anyway.
#include <spex/core/threads.h>
#include <spex/ops/norms.h>

#include <algorithm>

#include "ops/checks.h"
#include "ops/row_kernels.h"

namespace spex {
namespace {

constexpr float kSmallestNorm = 1e-12F;

// A multiple of eight rows, so that rows which share a vector never straddle blocks.
size_t rows_per_block(size_t cols) {
  return std::max<size_t>(1, 2048 / cols) * 8;
}

// One row's numbers, repeated or padded to the vectors of the kernels.
std::vector<float> on_lanes(ConstMatrixView row) {
  size_t cols = row.cols;
  std::vector<float> lanes(row_lanes(cols), 0.0F);
  for (size_t i = 0; i < row_group(cols); ++i) lanes[i] = row(0, i % cols);
  return lanes;
}

// sums[column] += the lanes that stand for it, block after block.
void add_lanes(MatrixView sums, const std::vector<float>& parts, size_t lanes) {
  std::vector<double> total(sums.cols, 0.0);
  for (size_t i = 0; i < parts.size(); ++i)
    if (i % lanes < row_group(sums.cols)) total[i % lanes % sums.cols] += parts[i];
  for (size_t c = 0; c < sums.cols; ++c) sums(0, c) += static_cast<float>(total[c]);
}

struct LayerNormSums {
  std::vector<float> dgain, dbias;  // blocks x lanes
};

// dy becomes dx; the sums over rows come back by block.
LayerNormSums layer_norm_backward(Matrix& dy, ConstMatrixView x, ConstMatrixView gain) {
  size_t block = rows_per_block(x.cols), lanes = row_lanes(x.cols);
  size_t blocks = (x.rows + block - 1) / block;
  LayerNormSums sums = {std::vector<float>(blocks * lanes, 0.0F),
                        std::vector<float>(blocks * lanes, 0.0F)};
  std::vector<float> gains = on_lanes(gain);
  parallel_for(x.rows, block, [&](size_t begin, size_t end) {
    size_t part = begin / block * lanes;
    SPEX_CALL(layer_norm_rows_backward, dy.view().row(begin), &sums.dgain[part], &sums.dbias[part],
              x.row(begin), gains.data(), kNormEpsilon, end - begin, x.cols);
  });
  return sums;
}

}  // namespace

// The formula of dx stands at the kernel; dgain = sum of dy xhat, dbias = sum of dy, over rows.
Var layer_norm(Tape& tape, const Var& x, const Var& gain, const Var& bias) {
  require(x.cols() > 0, "layer_norm: a matrix of no columns");
  require_packed(x.value(), "layer_norm");
  require_shape(gain, 1, x.cols(), "layer_norm");
  require_shape(bias, 1, x.cols(), "layer_norm");
  ConstMatrixView in = x.value();
  Matrix y(in.rows, in.cols, MemoryTag::activations);
  std::vector<float> gains = on_lanes(gain.value()), biases = on_lanes(bias.value());
  parallel_for(in.rows, rows_per_block(in.cols), [&](size_t begin, size_t end) {
    SPEX_CALL(layer_norm_rows, y.view().row(begin), in.row(begin), gains.data(), biases.data(),
              kNormEpsilon, end - begin, in.cols);
  });
  return tape.result_owning(Tape::share(std::move(y)), {x, gain, bias},
                            [kx = x.keep(), kgain = gain.keep(), dx = x.gradient(),
                             dgain = gain.gradient(), dbias = bias.gradient()](Matrix dy) {
                              size_t cols = dy.cols(), lanes = row_lanes(cols);
                              LayerNormSums sums =
                                  layer_norm_backward(dy, kx->view(), kgain->view());
                              if (dgain) add_lanes(dgain->accumulator(1, cols), sums.dgain, lanes);
                              if (dbias) add_lanes(dbias->accumulator(1, cols), sums.dbias, lanes);
                              if (dx) dx->give(std::move(dy));
                            });
}

Var normalize_rows(Tape& tape, const Var& x, const Var& s) {
  bool scaled = s.keep() != nullptr;
  require_packed(x.value(), "normalize_rows");
  require(x.cols() > 0, "normalize_rows: a matrix of no columns");
  if (scaled) require_shape(s, 1, 1, "normalize_rows");
  ConstMatrixView in = x.value();
  float factor = scaled ? s.value()(0, 0) : 1.0F;
  Matrix y(in.rows, in.cols, MemoryTag::activations);
  parallel_for(in.rows, rows_per_block(in.cols), [&](size_t begin, size_t end) {
    SPEX_CALL(normalize_rows_forward, y.view().row(begin), in.row(begin), factor, kSmallestNorm,
              end - begin, in.cols);
  });
  return tape.result_owning(
      Tape::share(std::move(y)), {x, s},
      [kx = x.keep(), factor, dx = x.gradient(), ds = s.gradient()](Matrix dy) {
        ConstMatrixView xv = kx->view();
        double sum = parallel_sum(
            xv.rows, rows_per_block(xv.cols), 0.0, [&](size_t begin, size_t end) -> double {
              return SPEX_CALL(normalize_rows_backward, dy.view().row(begin), xv.row(begin), factor,
                               kSmallestNorm, end - begin, xv.cols);
            });
        if (ds) ds->accumulator(1, 1)(0, 0) += static_cast<float>(sum);
        if (dx) dx->give(std::move(dy));
      });
}

}  // namespace spex
