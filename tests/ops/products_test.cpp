#include <spex/core/error.h>
#include <spex/ops/products.h>

#include <Eigen/LU>

#include "double_reference.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

std::vector<double> plain_cross_product(const std::vector<double>& a, const std::vector<double>& b,
                                        size_t rows, size_t left, size_t right) {
  std::vector<double> y(left * right, 0.0);
  for (size_t r = 0; r < rows; ++r)
    for (size_t i = 0; i < left; ++i)
      for (size_t j = 0; j < right; ++j) y[i * right + j] += a[r * left + i] * b[r * right + j];
  return y;
}

TEST(CrossProduct, MatchesDoublePrecisionForwardAndBackward) {
  auto run = [](Tape& tape, std::vector<Var>& in) { return cross_product(tape, in[0], in.back()); };
  for (size_t left : {1, 3, 17, 56})
    for (size_t right : {1, 8, 17})
      for (size_t rows : {0, 1, 23}) {
        expect_matches(matrices(random_matrix(rows, left, 1), random_matrix(rows, right, 2)), run,
                       [&](const Doubles& in) {
                         return plain_cross_product(in[0], in[1], rows, left, right);
                       });
        expect_matches(matrices(random_matrix(rows, left, 1)), run, [&](const Doubles& in) {
          return plain_cross_product(in[0], in[0], rows, left, left);
        });
      }
  expect_matches(
      matrices(random_matrix(9000, 3, 1), random_matrix(9000, 2, 2)), run,
      [](const Doubles& in) { return plain_cross_product(in[0], in[1], 9000, 3, 2); }, 2e-5, 4);
  expect_same_bytes_for_any_thread_count(
      matrices(random_matrix(20000, 7, 1), random_matrix(20000, 5, 2)), run);
}

Matrix well_conditioned(size_t n) {
  Matrix a = random_matrix(n, n, 4, 0.3);
  for (size_t i = 0; i < n; ++i) a(i, (i + 1) % n) += 4.0F;  // off the diagonal: pivots must move
  return a;
}

TEST(Inverse, MatchesAnotherLibrarysInDoublePrecision) {
  using Square = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  for (size_t n : {0, 1, 2, 7, 33})
    expect_matches(
        matrices(well_conditioned(n)),
        [](Tape& tape, std::vector<Var>& in) { return inverse(tape, in[0]); },
        [n](const Doubles& in) {
          auto size = static_cast<Eigen::Index>(n);
          Square y = Eigen::Map<const Square>(in[0].data(), size, size);
          if (n > 0) y = y.inverse().eval();
          return std::vector<double>(y.data(), y.data() + y.size());
        },
        1e-6);
}

TEST(Products, RejectShapesThatDoNotMatchAndMatricesWithoutInverse) {
  Tape tape;
  auto var = [&](size_t rows, size_t cols) { return tape.variable(random_matrix(rows, cols, 1)); };
  EXPECT_THROW(cross_product(tape, var(3, 4), var(4, 3)), Error);
  EXPECT_THROW(inverse(tape, var(3, 4)), Error);
  EXPECT_THROW(inverse(tape, tape.variable(Matrix::zeros(3, 3, MemoryTag::other))), Error);
}

}  // namespace
}  // namespace spex
