// Operations of a matrix with one row of numbers that serves all its rows. Sums over rows are those
// of columns.h.
#include <spex/ops/elementwise.h>

#include <vector>

#include "ops/checks.h"
#include "ops/columns.h"
#include "ops/numbers.h"

namespace spex {
namespace {

void add_row_gradient(Gradient& gradient, const std::vector<double>& sums) {
  MatrixView out = gradient.accumulator(1, sums.size());
  for (size_t c = 0; c < sums.size(); ++c) out(0, c) += static_cast<float>(sums[c]);
}

// Per column, the sum over rows of dy x.
std::vector<double> products(const Matrix& dy, ConstMatrixView x) {
  return column_dots(dy, x, std::vector<float>(x.cols, 0.0F)).dot;
}

// One factor per column from one per group of columns.
std::vector<float> by_column(ConstMatrixView s, size_t cols) {
  std::vector<float> factors(cols);
  for (size_t c = 0; c < cols; ++c) factors[c] = s(0, c * s.cols / cols);
  return factors;
}

}  // namespace

// dx = s dy, ds = sum of dy x over the group. Kept for backward: x and s.
Var scale(Tape& tape, const Var& x, const Var& s) {
  require_packed(x.value(), "scale");
  require(s.rows() == 1 && s.cols() > 0 && x.cols() % s.cols() == 0,
          "scale: {} columns in groups need 1 x 1 factors, or one per group, not {} x {}", x.cols(),
          s.rows(), s.cols());
  Matrix y(x.rows(), x.cols(), MemoryTag::activations);
  const float* in = x.value().data;
  std::vector<float> factors = by_column(s.value(), x.cols());
  for_columns(y.data(), y.rows(), y.cols(),
              [&, f = factors.data()](size_t i, size_t c) { return f[c] * in[i]; });
  return tape.result_owning(
      Tape::share(std::move(y)), {x, s},
      [kx = x.keep(), ks = s.keep(), factors, dx = x.gradient(), ds = s.gradient()](Matrix dy) {
        size_t groups = ks->view().cols;
        if (ds && dy.cols() > 0) {
          std::vector<double> dots = products(dy, kx->view()), sums(groups, 0.0);
          for (size_t c = 0; c < dots.size(); ++c) sums[c * groups / dots.size()] += dots[c];
          add_row_gradient(*ds, sums);
        }
        if (!dx) return;
        float* d = dy.data();
        for_columns(d, dy.rows(), dy.cols(),
                    [&, f = factors.data()](size_t i, size_t c) { return f[c] * d[i]; });
        dx->give(std::move(dy));
      });
}

// dx = dy, dr = column sums of dy. Kept for backward: nothing.
Var add_row(Tape& tape, Var x, const Var& r) {
  require_packed(x.value(), "add_row");
  require_shape(r, 1, x.cols(), "add_row");
  require(x.cols() > 0, "add_row: a matrix of no columns");
  Matrix y = Tape::buffer_of(x);
  map_columns(y, x.value().data,
              [row = r.value().data](float in, size_t c) { return in + row[c]; });
  return tape.result_owning(Tape::share(std::move(y)), {x, r},
                            [dx = x.gradient(), dr = r.gradient()](Matrix dy) {
                              if (dr) add_row_gradient(*dr, column_sums(dy));
                              if (dx) dx->give(std::move(dy));
                            });
}

// da = (1 - beta) dy, db = beta dy, dbeta = column sums of dy (b - a). Kept for backward: beta, and
// a and b if it is learned.
Var interpolate(Tape& tape, const Var& a, const Var& b, const Var& beta) {
  require_same_shape(a, b, "interpolate");
  require_packed(a.value(), "interpolate");
  require_packed(b.value(), "interpolate");
  require_shape(beta, 1, a.cols(), "interpolate");
  require(a.cols() > 0, "interpolate: matrices of no columns");
  Matrix y(a.rows(), a.cols(), MemoryTag::activations);
  const float *from = a.value().data, *to = b.value().data, *w = beta.value().data;
  for_columns(y.data(), y.rows(), y.cols(),
              [&](size_t i, size_t c) { return (1.0F - w[c]) * from[i] + w[c] * to[i]; });
  auto dbeta = beta.gradient();
  return tape.result_owning(
      Tape::share(std::move(y)), {a, b, beta},
      [ka = dbeta ? a.keep() : nullptr, kb = dbeta ? b.keep() : nullptr, kbeta = beta.keep(), dbeta,
       da = a.gradient(), db = b.gradient()](Matrix dy) {
        const float* w = kbeta->view().data;
        float* d = dy.data();
        if (dbeta) {
          std::vector<double> sums = products(dy, kb->view()), less = products(dy, ka->view());
          for (size_t c = 0; c < sums.size(); ++c) sums[c] -= less[c];
          add_row_gradient(*dbeta, sums);
        }
        if (da) {
          GradientTarget target = da->target(dy.rows(), dy.cols());
          float* out = target.out.data;
          bool more = target.add;
          for_columns(out, dy.rows(), dy.cols(), [&](size_t i, size_t c) {
            float part = (1.0F - w[c]) * d[i];
            return more ? out[i] + part : part;
          });
        }
        if (!db) return;
        for_columns(d, dy.rows(), dy.cols(), [&](size_t i, size_t c) { return w[c] * d[i]; });
        db->give(std::move(dy));
      });
}

}  // namespace spex
