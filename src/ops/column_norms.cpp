// Batch norm and graph norm: both normalise each column by statistics over rows. With center m
// (the mean, or alpha times the mean), c = x - m and s = 1 / sqrt(variance + epsilon), both are
// y = gain s c + bias. Kept for backward: x, and m and s per column.
#include <spex/core/threads.h>
#include <spex/ops/norms.h>

#include <algorithm>
#include <cmath>

#include "ops/checks.h"
#include "ops/columns.h"

namespace spex {
namespace {

void check(const Var& x, const Var& gain, const Var& bias, const char* what) {
  require(x.cols() > 0, "{}: a matrix of no columns", what);
  require_packed(x.value(), what);
  require_shape(gain, 1, x.cols(), what);
  require_shape(bias, 1, x.cols(), what);
}

double inverse_deviation(double variance) {
  return 1.0 / std::sqrt(variance + kNormEpsilon);
}

// y = gain s (x - m) + bias
Matrix normalise(ConstMatrixView x, const std::vector<double>& center,
                 const std::vector<double>& inverse, const Var& gain, const Var& bias) {
  ColumnMap map;
  for (size_t c = 0; c < x.cols; ++c) {
    map.center.push_back(static_cast<float>(center[c]));
    map.factor.push_back(static_cast<float>(gain.value()(0, c) * inverse[c]));
    map.shift.push_back(bias.value()(0, c));
  }
  Matrix y(x.rows, x.cols, MemoryTag::activations);
  apply(y, x, map);
  return y;
}

// What the two backward passes share: the column sums of dy and of dy c, and the gradients of gain
// and bias that follow from them: dgain = s sum(dy c), dbias = sum(dy).
struct Columns {
  std::vector<float> center;
  std::vector<double> inverse;
  std::shared_ptr<Gradient> dgain, dbias;

  ColumnDots sums(ConstMatrixView dy, ConstMatrixView x) const {
    ColumnDots dots = column_dots(dy, x, center);
    if (dgain) {
      MatrixView out = dgain->accumulator(1, x.cols);
      for (size_t c = 0; c < x.cols; ++c) out(0, c) += static_cast<float>(inverse[c] * dots.dot[c]);
    }
    if (dbias) {
      MatrixView out = dbias->accumulator(1, x.cols);
      for (size_t c = 0; c < x.cols; ++c) out(0, c) += static_cast<float>(dots.sum[c]);
    }
    return dots;
  }
};

Columns columns(const std::vector<double>& center, std::vector<double> inverse, const Var& gain,
                const Var& bias) {
  return {{center.begin(), center.end()}, std::move(inverse), gain.gradient(), bias.gradient()};
}

void push(ColumnBackward& map, double p, double q, double r) {
  map.p.push_back(static_cast<float>(p));
  map.q.push_back(static_cast<float>(q));
  map.r.push_back(static_cast<float>(r));
}

void update(RunningStatistics& running, const ColumnMoments& batch, size_t rows) {
  double unbiased = rows > 1 ? static_cast<double>(rows) / static_cast<double>(rows - 1) : 1.0;
  double newest = running.momentum;
  for (size_t c = 0; c < running.mean.size(); ++c) {
    running.mean[c] = static_cast<float>((1 - newest) * running.mean[c] + newest * batch.mean[c]);
    running.variance[c] = static_cast<float>((1 - newest) * running.variance[c] +
                                             newest * unbiased * batch.variance[c]);
  }
}

constexpr size_t kBlockRows = 256;

Matrix gather(ConstMatrixView x, std::span<const NodeId> rows) {
  Matrix part(rows.size(), x.cols, MemoryTag::activations);
  parallel_for(rows.size(), kBlockRows, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) std::copy_n(x.row(rows[i]), x.cols, part.view().row(i));
  });
  return part;
}

// dy <- dy + q (x - center) + r in the rows.
void add_statistics_part(MatrixView dy, ConstMatrixView x, std::span<const NodeId> rows,
                         std::span<const float> center, const ColumnBackward& map) {
  parallel_for(rows.size(), kBlockRows, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      float* out = dy.row(rows[i]);
      const float* in = x.row(rows[i]);
      for (size_t c = 0; c < x.cols; ++c) out[c] += map.q[c] * (in[c] - center[c]) + map.r[c];
    }
  });
}

// The statistics that batch norm normalises with.
ColumnMoments batch_moments(ConstMatrixView x, RunningStatistics& running, bool training,
                            std::span<const NodeId> counted) {
  if (running.mean.empty() && running.variance.empty()) {
    running.mean.assign(x.cols, 0.0F);
    running.variance.assign(x.cols, 1.0F);
  }
  require(running.mean.size() == x.cols && running.variance.size() == x.cols,
          "batch_norm: running statistics of {} columns for {}", running.mean.size(), x.cols);
  if (!training)
    return {{running.mean.begin(), running.mean.end()},
            {running.variance.begin(), running.variance.end()}};
  bool all = counted.empty();
  ColumnMoments moments = all ? column_moments(x) : column_moments(gather(x, counted));
  update(running, moments, all ? x.rows : counted.size());
  return moments;
}

}  // namespace

// In training, with xhat = s c and n rows counted: dx = gain s (dy - [counted] (sum(dy) + xhat
// sum(dy xhat)) / n), the sums over all rows. In evaluation the statistics are constants: dx = gain
// s dy.
Var batch_norm(Tape& tape, const Var& x, const Var& gain, const Var& bias,
               RunningStatistics& running, bool training, std::span<const NodeId> counted) {
  check(x, gain, bias, "batch_norm");
  ColumnMoments moments = batch_moments(x.value(), running, training, counted);
  std::vector<double> inverse;
  for (double variance : moments.variance) inverse.push_back(inverse_deviation(variance));
  Matrix y = normalise(x.value(), moments.mean, inverse, gain, bias);
  return tape.result_owning(
      Tape::share(std::move(y)), {x, gain, bias},
      [kx = x.keep(), kgain = gain.keep(), dx = x.gradient(), training, counted,
       kept = columns(moments.mean, std::move(inverse), gain, bias)](Matrix dy) {
        ConstMatrixView xv = kx->view();
        ColumnDots sums = kept.sums(dy, xv);
        if (!dx) return;
        bool all = counted.empty();
        double over_n = training ? 1.0 / static_cast<double>(all ? xv.rows : counted.size()) : 0.0;
        ColumnBackward through_all, through_counted;
        for (size_t c = 0; c < xv.cols; ++c) {
          double s = kept.inverse[c];
          double p = kgain->view()(0, c) * s;
          double q = -p * s * s * sums.dot[c] * over_n, r = -p * sums.sum[c] * over_n;
          push(through_all, p, all ? q : 0.0, all ? r : 0.0);
          push(through_counted, 0.0, q, r);
        }
        apply(dy, xv, kept.center, through_all);
        if (!all && training) add_statistics_part(dy, xv, counted, kept.center, through_counted);
        dx->give(std::move(dy));
      });
}

// c = x - alpha mean, v = mean(c^2) = variance + (1 - alpha)^2 mean^2.
// dc = gain s (dy - s^2 c mean(dy c)), dx = dc - alpha mean(dc), dalpha = -mean sum(dc),
// where sum(dc) = gain s (sum(dy) - s^2 mean(dy c) sum(c)) and sum(c) = N (1 - alpha) mean.
Var graph_norm(Tape& tape, const Var& x, const Var& gain, const Var& bias, const Var& alpha) {
  check(x, gain, bias, "graph_norm");
  require_shape(alpha, 1, x.cols(), "graph_norm");
  ColumnMoments moments = column_moments(x.value());
  std::vector<double> center, inverse;
  for (size_t c = 0; c < x.cols(); ++c) {
    double rest = (1.0 - alpha.value()(0, c)) * moments.mean[c];
    center.push_back(alpha.value()(0, c) * moments.mean[c]);
    inverse.push_back(inverse_deviation(moments.variance[c] + rest * rest));
  }
  Matrix y = normalise(x.value(), center, inverse, gain, bias);
  return tape.result_owning(
      Tape::share(std::move(y)), {x, gain, bias, alpha},
      [kx = x.keep(), kgain = gain.keep(), kalpha = alpha.keep(), dx = x.gradient(),
       dalpha = alpha.gradient(), mean = std::move(moments.mean),
       kept = columns(center, std::move(inverse), gain, bias)](Matrix dy) {
        ConstMatrixView xv = kx->view();
        ColumnDots sums = kept.sums(dy, xv);
        double n = static_cast<double>(xv.rows);
        ColumnBackward map;
        MatrixView dalphas = dalpha ? dalpha->accumulator(1, xv.cols) : MatrixView{};
        for (size_t c = 0; c < xv.cols; ++c) {
          double s = kept.inverse[c], a = kalpha->view()(0, c);
          double p = kgain->view()(0, c) * s;
          double q = -p * s * s * sums.dot[c] / n;
          double sum_dc = p * sums.sum[c] + q * n * (1.0 - a) * mean[c];
          push(map, p, q, -a * sum_dc / n);
          if (dalpha) dalphas(0, c) -= static_cast<float>(mean[c] * sum_dc);
        }
        if (!dx) return;
        apply(dy, xv, kept.center, map);
        dx->give(std::move(dy));
      });
}

}  // namespace spex
