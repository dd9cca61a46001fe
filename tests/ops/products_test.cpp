#include <spex/core/error.h>
#include <spex/ops/linear.h>
#include <spex/ops/products.h>

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

// By Cramer's rule for 1 x 1 and 2 x 2; larger ones are tested through their defining property.
TEST(Inverse, OfTwoByTwoMatchesCramersRule) {
  auto run = [](Tape& tape, std::vector<Var>& in) { return inverse(tape, in[0]); };
  Matrix a = random_matrix(2, 2, 1);
  expect_matches(matrices(clone(a)), run, [](const Doubles& in) {
    const std::vector<double>& m = in[0];
    double determinant = m[0] * m[3] - m[1] * m[2];
    return std::vector<double>{m[3] / determinant, -m[1] / determinant, -m[2] / determinant,
                               m[0] / determinant};
  });
  expect_matches(matrices(random_matrix(1, 1, 3)), run,
                 [](const Doubles& in) { return std::vector<double>{1 / in[0][0]}; });
}

Matrix well_conditioned(size_t n) {
  Matrix a = random_matrix(n, n, 4, 0.3);
  for (size_t i = 0; i < n; ++i) a(i, (i + 1) % n) += 4.0F;  // off the diagonal: pivots must move
  return a;
}

TEST(Inverse, TimesTheMatrixIsTheIdentity) {
  for (size_t n : {1, 3, 17, 64}) {
    Tape tape(false);
    Var a = tape.variable(well_conditioned(n)), product = linear(tape, inverse(tape, a), a);
    for (size_t r = 0; r < n; ++r)
      for (size_t c = 0; c < n; ++c)
        ASSERT_NEAR(product.value()(r, c), r == c ? 1.0F : 0.0F, 1e-5F);
  }
}

TEST(Inverse, GradientMatchesFiniteDifferences) {
  check_gradients(
      matrices(well_conditioned(7)),
      [](Tape& tape, std::vector<Var>& in) { return inverse(tape, in[0]); }, 2e-3);
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
