#include <spex/ops/products.h>
#include <spex/tensor/gemm.h>

#include <cmath>
#include <vector>

#include "ops/checks.h"
#include "ops/linear_parts.h"

namespace spex {
namespace {

GradientTarget target_of(const std::shared_ptr<Gradient>& gradient, ConstMatrixView like) {
  return gradient ? gradient->target(like.rows, like.cols) : GradientTarget{};
}

// Gauss and Jordan's elimination on the n x 2n matrix [A I], each time with the largest pivot.
class Elimination {
 public:
  explicit Elimination(ConstMatrixView a) : n_(a.rows), rows_(a.rows * 2 * a.rows, 0.0) {
    for (size_t r = 0; r < n_; ++r) {
      for (size_t c = 0; c < n_; ++c) at(r, c) = a(r, c);
      at(r, n_ + r) = 1.0;
    }
  }

  Matrix inverse() {
    for (size_t step = 0; step < n_; ++step) {
      bring_pivot(step);
      double pivot = at(step, step);
      require(std::isfinite(pivot) && pivot != 0.0,
              "inverse: a matrix of {} x {} has none (pivot {} of step {})", n_, n_, pivot, step);
      for (size_t c = 0; c < 2 * n_; ++c) at(step, c) /= pivot;
      for (size_t r = 0; r < n_; ++r)
        if (r != step) subtract(r, step, at(r, step));
    }
    Matrix result(n_, n_, MemoryTag::activations);
    for (size_t r = 0; r < n_; ++r)
      for (size_t c = 0; c < n_; ++c) result(r, c) = static_cast<float>(at(r, n_ + c));
    return result;
  }

 private:
  double& at(size_t r, size_t c) { return rows_[r * 2 * n_ + c]; }

  void bring_pivot(size_t step) {
    size_t best = step;
    for (size_t r = step + 1; r < n_; ++r)
      if (std::abs(at(r, step)) > std::abs(at(best, step))) best = r;
    for (size_t c = 0; best != step && c < 2 * n_; ++c) std::swap(at(step, c), at(best, c));
  }

  // row -= factor other
  void subtract(size_t row, size_t other, double factor) {
    for (size_t c = 0; c < 2 * n_; ++c) at(row, c) -= factor * at(other, c);
  }

  size_t n_;
  std::vector<double> rows_;
};

}  // namespace

// da = b dy^T, db = a dy. Kept for backward: each input whose partner wants a gradient.
Var cross_product(Tape& tape, const Var& a, const Var& b) {
  require(a.rows() == b.rows(), "cross_product: {} rows meet {} rows", a.rows(), b.rows());
  size_t block = block_rows(std::max<size_t>(1, a.cols()), b.cols());
  Slices slices(a.rows(), block);
  Matrix parts = Matrix::zeros(slices.count * a.cols(), b.cols(), MemoryTag::activations);
  slices.for_blocks([&](size_t slice, size_t first, size_t count) {
    gemm(parts.view().block(slice * a.cols(), a.cols()), a.value().block(first, count),
         Transpose::yes, b.value().block(first, count), Transpose::no, 1.0F);
  });
  Matrix y = Matrix::zeros(a.cols(), b.cols(), MemoryTag::activations);
  for (size_t slice = 0; slice < slices.count; ++slice)
    add(y, parts.view().block(slice * a.cols(), a.cols()));
  return tape.result(std::move(y), {a, b},
                     [block, ka = a.keep(), kb = b.keep(), ga = a.gradient(),
                      gb = b.gradient()](ConstMatrixView dy) {
                       // In the order of their use: where both are one, the second adds.
                       GradientTarget da = target_of(ga, ka->view()),
                                      db = target_of(gb, kb->view());
                       parallel_for(ka->view().rows, block, [&](size_t begin, size_t end) {
                         size_t count = end - begin;
                         if (ga)
                           gemm(da.out.block(begin, count), kb->view().block(begin, count),
                                Transpose::no, dy, Transpose::yes, da.add ? 1.0F : 0.0F);
                         if (gb)
                           gemm(db.out.block(begin, count), ka->view().block(begin, count),
                                Transpose::no, dy, Transpose::no, db.add ? 1.0F : 0.0F);
                       });
                     });
}

// With y the inverse: da = -y^T dy y^T. Kept for backward: y.
Var inverse(Tape& tape, const Var& a) {
  require(a.rows() == a.cols(), "inverse: {} x {} is not square", a.rows(), a.cols());
  auto y = Tape::share(Elimination(a.value()).inverse());
  return tape.result(y, {a}, [y, da = a.gradient()](ConstMatrixView dy) {
    Matrix left(dy.rows, dy.cols, MemoryTag::gradients);
    Matrix product(dy.rows, dy.cols, MemoryTag::gradients);
    gemm(left, y->view(), Transpose::yes, dy, Transpose::no);
    gemm(product, left, Transpose::no, y->view(), Transpose::yes);
    for (float& value : product.span()) value = -value;
    da->give(std::move(product));
  });
}

}  // namespace spex
