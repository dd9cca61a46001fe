// Checks an operation's gradients against central differences. The loss is a fixed random linear
// form of the result, so every entry of the result and of every gradient counts.
//
//   check_gradients(matrices(random_matrix(5, 3, 1), random_matrix(3, 2, 2)),
//                   [](Tape& tape, std::vector<Var>& in) { return linear(tape, in[0], in[1]); });
#pragma once

#include <gtest/gtest.h>
#include <spex/core/random.h>
#include <spex/tensor/tape.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace spex::testing_support {

inline Matrix random_matrix(size_t rows, size_t cols, uint64_t seed, double scale = 1.0) {
  Matrix matrix(rows, cols, MemoryTag::other);
  Random random(seed, Purpose::test);
  for (size_t i = 0; i < matrix.size(); ++i)
    matrix.data()[i] = static_cast<float>(scale * random.normal(i));
  return matrix;
}

inline Matrix clone(ConstMatrixView view) {
  Matrix matrix(view.rows, view.cols, MemoryTag::other);
  copy(matrix, view);
  return matrix;
}

template <class... M>
std::vector<Matrix> matrices(M&&... each) {
  std::vector<Matrix> all;
  (all.push_back(std::forward<M>(each)), ...);
  return all;
}

using Operation = std::function<Var(Tape&, std::vector<Var>&)>;

inline double loss_of(ConstMatrixView y) {
  Random random(99, Purpose::test, 1);
  double sum = 0;
  for (size_t r = 0; r < y.rows; ++r)
    for (size_t c = 0; c < y.cols; ++c) sum += random.normal(r * y.cols + c) * y(r, c);
  return sum;
}

inline Var linear_form(Tape& tape, const Var& y) {
  Matrix sum(1, 1, MemoryTag::other);
  sum(0, 0) = static_cast<float>(loss_of(y.value()));
  return tape.result(std::move(sum), {y},
                     [dy = y.gradient(), rows = y.rows(), cols = y.cols()](ConstMatrixView dloss) {
                       Random random(99, Purpose::test, 1);
                       Matrix part(rows, cols, MemoryTag::gradients);
                       for (size_t i = 0; i < part.size(); ++i)
                         part.data()[i] = static_cast<float>(dloss(0, 0) * random.normal(i));
                       dy->give(std::move(part));
                     });
}

// The largest difference between the tape's gradients and central differences, relative to the size
// of the gradient. Every entry of small inputs is checked, a fixed choice of 64 entries of large
// ones.
inline double gradient_error(std::vector<Matrix>& inputs, const Operation& operation,
                             double step = 1e-2) {
  auto evaluate = [&](bool recording, std::vector<Var>& vars, Tape& tape) {
    for (Matrix& input : inputs)
      vars.push_back(recording ? tape.variable(clone(input)) : tape.constant(input.view()));
    return operation(tape, vars);
  };
  Tape tape;
  std::vector<Var> vars;
  tape.backward(linear_form(tape, evaluate(true, vars, tape)));
  auto loss = [&] {
    Tape silent(false);
    std::vector<Var> constants;
    return loss_of(evaluate(false, constants, silent).value());
  };
  double worst = 0;
  for (size_t v = 0; v < inputs.size(); ++v) {
    Matrix& values = inputs[v];
    if (!vars[v].gradient()->filled()) continue;
    ConstMatrixView gradient = vars[v].gradient()->view();
    double scale = 1e-3;
    for (size_t i = 0; i < values.size(); ++i)
      scale = std::max(scale, std::abs(static_cast<double>(gradient.data[i])));
    size_t stride = std::max<size_t>(1, values.size() / 64);
    for (size_t i = 0; i < values.size(); i += stride) {
      float original = values.data()[i];
      values.data()[i] = original + static_cast<float>(step);
      double above = loss();
      values.data()[i] = original - static_cast<float>(step);
      double below = loss();
      values.data()[i] = original;
      double error = std::abs((above - below) / (2 * step) - gradient.data[i]) / scale;
      if (error > worst) worst = error;
    }
  }
  return worst;
}

inline void check_gradients(std::vector<Matrix> inputs, const Operation& operation,
                            double tolerance = 2e-2, double step = 1e-2) {
  EXPECT_LT(gradient_error(inputs, operation, step), tolerance);
}

inline void expect_near(ConstMatrixView actual, ConstMatrixView expected, double tolerance,
                        const std::string& what) {
  ASSERT_EQ(actual.rows, expected.rows) << what;
  ASSERT_EQ(actual.cols, expected.cols) << what;
  for (size_t r = 0; r < actual.rows; ++r)
    for (size_t c = 0; c < actual.cols; ++c)
      ASSERT_NEAR(actual(r, c), expected(r, c), tolerance * (1 + std::abs(expected(r, c))))
          << what << " at row " << r << ", column " << c;
}

}  // namespace spex::testing_support
