#include <spex/ops/norms.h>

#include <cmath>

#include "double_reference.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

// x: N x C, then gain and bias (and alpha), 1 x C. A mean far from zero tests the cancellation.
std::vector<Matrix> norm_inputs(size_t rows, size_t cols, bool alpha = false) {
  Matrix x = random_matrix(rows, cols, 1);
  for (size_t i = 0; i < x.size(); ++i) x.data()[i] += 3.0F + static_cast<float>(i % cols % 5);
  std::vector<Matrix> all =
      matrices(std::move(x), random_matrix(1, cols, 2), random_matrix(1, cols, 3));
  if (alpha) all.push_back(random_matrix(1, cols, 4));
  return all;
}

// y = gain (x - shift mean) / sqrt(mean of (x - shift mean)^2 + 1e-5) + bias over the `count`
// numbers that start at `first`, `step` apart: a column, or a row.
struct Line {
  size_t first, step, count;
  template <class Column>
  void normalise(std::vector<double>& y, const Doubles& in, double shift, Column column) const {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < count; ++i) mean += in[0][first + i * step] / double(count);
    for (size_t i = 0; i < count; ++i)
      variance += std::pow(in[0][first + i * step] - shift * mean, 2) / double(count);
    for (size_t i = 0; i < count; ++i) {
      double hat = (in[0][first + i * step] - shift * mean) / std::sqrt(variance + 1e-5);
      y[first + i * step] = in[1][column(i)] * hat + in[2][column(i)];
    }
  }
};

DoubleProgram layer_norm_program(size_t rows, size_t cols) {
  return [=](const Doubles& in) {
    std::vector<double> y(rows * cols);
    for (size_t r = 0; r < rows; ++r)
      Line{r * cols, 1, cols}.normalise(y, in, 1.0, [](size_t i) { return i; });
    return y;
  };
}

// Batch norm in training; with a fourth input, graph norm.
DoubleProgram column_norm_program(size_t rows, size_t cols) {
  return [=](const Doubles& in) {
    std::vector<double> y(rows * cols);
    for (size_t c = 0; c < cols; ++c)
      Line{c, cols, rows}.normalise(y, in, in.size() > 3 ? in[3][c] : 1.0,
                                    [c](size_t) { return c; });
    return y;
  };
}

DoubleProgram normalize_rows_program(size_t rows, size_t cols) {
  return [=](const Doubles& in) {
    std::vector<double> y(rows * cols);
    for (size_t r = 0; r < rows; ++r) {
      double squares = 0;
      for (size_t c = 0; c < cols; ++c) squares += std::pow(in[0][r * cols + c], 2);
      for (size_t c = 0; c < cols; ++c)
        y[r * cols + c] = in[1][0] * in[0][r * cols + c] / std::max(std::sqrt(squares), 1e-12);
    }
    return y;
  };
}

Var run_layer_norm(Tape& tape, std::vector<Var>& in) {
  return layer_norm(tape, in[0], in[1], in[2]);
}
Var run_batch_norm(Tape& tape, std::vector<Var>& in) {
  RunningStatistics running;
  return batch_norm(tape, in[0], in[1], in[2], running, true);
}
Var run_graph_norm(Tape& tape, std::vector<Var>& in) {
  return graph_norm(tape, in[0], in[1], in[2], in[3]);
}
Var run_normalize_rows(Tape& tape, std::vector<Var>& in) {
  return normalize_rows(tape, in[0], in[1]);
}

template <class Check>
void for_shapes(Check&& check) {
  for (size_t rows : {1, 7, 203})
    for (size_t cols : kWidths) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols));
      on_every_isa([&] { check(rows, cols); });
    }
}

TEST(LayerNorm, MatchesDoublePrecisionForwardAndBackward) {
  for_shapes([](size_t rows, size_t cols) {
    expect_matches(norm_inputs(rows, cols), run_layer_norm, layer_norm_program(rows, cols), 1e-4);
  });
}

TEST(BatchNorm, MatchesDoublePrecisionForwardAndBackward) {
  for_shapes([](size_t rows, size_t cols) {
    if (rows > 1)
      expect_matches(norm_inputs(rows, cols), run_batch_norm, column_norm_program(rows, cols),
                     1e-4);
  });
}

constexpr NodeId kCounted[] = {0, 2, 3, 6};

Var run_counted_norm(Tape& tape, std::vector<Var>& in) {
  RunningStatistics running;
  return batch_norm(tape, in[0], in[1], in[2], running, true, kCounted);
}

// The statistics of some rows serve all of them.
DoubleProgram counted_norm_program(size_t rows, size_t cols) {
  return [=](const Doubles& in) {
    std::vector<double> y(rows * cols);
    for (size_t c = 0; c < cols; ++c) {
      double mean = 0, variance = 0, n = std::size(kCounted);
      for (NodeId r : kCounted) mean += in[0][r * cols + c] / n;
      for (NodeId r : kCounted) variance += std::pow(in[0][r * cols + c] - mean, 2) / n;
      for (size_t r = 0; r < rows; ++r)
        y[r * cols + c] =
            in[1][c] * (in[0][r * cols + c] - mean) / std::sqrt(variance + 1e-5) + in[2][c];
    }
    return y;
  };
}

TEST(BatchNorm, WithStatisticsOfSomeRowsMatchesDoublePrecisionForwardAndBackward) {
  for_shapes([](size_t rows, size_t cols) {
    if (rows > 1)
      expect_matches(norm_inputs(rows, cols), run_counted_norm, counted_norm_program(rows, cols),
                     1e-4);
  });
}

TEST(BatchNorm, KeepsTheRunningStatisticsOfTheCountedRows) {
  std::vector<Matrix> in = norm_inputs(7, 3);
  Tape tape;
  RunningStatistics running;
  batch_norm(tape, tape.variable(clone(in[0])), tape.constant(in[1].view()),
             tape.constant(in[2].view()), running, true, kCounted);
  double mean = 0, variance = 0;
  for (NodeId r : kCounted) mean += in[0](r, 1) / 4.0;
  for (NodeId r : kCounted) variance += std::pow(in[0](r, 1) - mean, 2) / 3.0;
  EXPECT_NEAR(running.mean[1], 0.1 * mean, 1e-5);
  EXPECT_NEAR(running.variance[1], 0.9 + 0.1 * variance, 1e-5);
}

TEST(GraphNorm, MatchesDoublePrecisionForwardAndBackward) {
  for_shapes([](size_t rows, size_t cols) {
    if (rows > 1)
      expect_matches(norm_inputs(rows, cols, true), run_graph_norm, column_norm_program(rows, cols),
                     1e-4);
  });
}

TEST(NormalizeRows, MatchesDoublePrecisionForwardAndBackward) {
  for_shapes([](size_t rows, size_t cols) {
    expect_matches(matrices(random_matrix(rows, cols, 1), random_matrix(1, 1, 2)),
                   run_normalize_rows, normalize_rows_program(rows, cols));
  });
}

TEST(Norms, GradientsMatchFiniteDifferences) {
  check_gradients(norm_inputs(6, 5), run_layer_norm);
  check_gradients(norm_inputs(6, 5), run_batch_norm);
  check_gradients(norm_inputs(7, 5), run_counted_norm);
  check_gradients(norm_inputs(6, 5, true), run_graph_norm);
  check_gradients(matrices(random_matrix(6, 5, 1), random_matrix(1, 1, 2)), run_normalize_rows);
}

TEST(Norms, OneRowIsItsOwnMean) {
  std::vector<Matrix> inputs = norm_inputs(1, 8);
  Tape tape;
  Var x = tape.variable(clone(inputs[0])), gain = tape.variable(clone(inputs[1])),
      bias = tape.variable(clone(inputs[2])),
      zero = tape.variable(Matrix::zeros(1, 8, MemoryTag::other));
  RunningStatistics running;
  expect_near(batch_norm(tape, x, gain, bias, running, true).value(), inputs[2], 1e-6, "batch");
  Var y = graph_norm(tape, x, gain, bias, zero);  // alpha 0: nothing is subtracted
  for (size_t c = 0; c < 8; ++c) {
    double v = inputs[0](0, c);
    EXPECT_NEAR(y.value()(0, c), inputs[1](0, c) * v / std::sqrt(v * v + 1e-5) + inputs[2](0, c),
                1e-5);
  }
}

TEST(Norms, SameBytesForAnyThreadCount) {
  for (size_t cols : {3, 8, 128}) {
    size_t rows = 300000 / cols;
    expect_same_bytes_for_any_thread_count(norm_inputs(rows, cols), run_layer_norm);
    expect_same_bytes_for_any_thread_count(norm_inputs(rows, cols), run_batch_norm);
    expect_same_bytes_for_any_thread_count(norm_inputs(rows, cols, true), run_graph_norm);
    expect_same_bytes_for_any_thread_count(
        matrices(random_matrix(rows, cols, 1), random_matrix(1, 1, 2)), run_normalize_rows);
  }
}

TEST(NormalizeRows, ZeroRowsStayZeroAndTheScaleIsOptional) {
  Matrix x = Matrix::zeros(3, 4, MemoryTag::other);
  x(1, 2) = -5.0F;
  Tape tape;
  Var vx = tape.variable(std::move(x));
  Var y = normalize_rows(tape, vx);
  EXPECT_EQ(y.value()(1, 2), -1.0F);
  for (size_t c = 0; c < 4; ++c) EXPECT_EQ(y.value()(0, c), 0.0F);
  tape.backward(linear_form(tape, y));
  EXPECT_TRUE(std::isfinite(vx.gradient()->view()(0, 0)));
}

TEST(BatchNorm, KeepsUnbiasedRunningStatisticsAndUsesThemInEvaluation) {
  std::vector<Matrix> in = norm_inputs(50, 3);
  Tape tape;
  Var x = tape.variable(clone(in[0])), gain = tape.constant(in[1].view()),
      bias = tape.constant(in[2].view());
  RunningStatistics running;
  batch_norm(tape, x, gain, bias, running, true);
  for (size_t c = 0; c < 3; ++c) {
    double mean = 0, variance = 0;
    for (size_t r = 0; r < 50; ++r) mean += in[0](r, c) / 50.0;
    for (size_t r = 0; r < 50; ++r) variance += std::pow(in[0](r, c) - mean, 2) / 49.0;
    EXPECT_NEAR(running.mean[c], 0.1 * mean, 1e-5);
    EXPECT_NEAR(running.variance[c], 0.9 + 0.1 * variance, 1e-5);
  }
  RunningStatistics frozen = running;
  Var y = batch_norm(tape, x, gain, bias, running, false);
  EXPECT_EQ(running.mean, frozen.mean);
  double hat = (in[0](4, 1) - running.mean[1]) / std::sqrt(running.variance[1] + 1e-5);
  EXPECT_NEAR(y.value()(4, 1), in[1](0, 1) * hat + in[2](0, 1), 1e-5);
  check_gradients(norm_inputs(6, 3), [&](Tape& t, std::vector<Var>& v) {
    return batch_norm(t, v[0], v[1], v[2], running, false);
  });
}

TEST(Norms, SurviveAMeanFarLargerThanTheDeviation) {
  Matrix x = random_matrix(5000, 4, 1);
  for (float& value : x.span()) value += 1000.0F;
  Matrix gain(1, 4, MemoryTag::other), bias = Matrix::zeros(1, 4, MemoryTag::other);
  fill(gain, 1.0F);
  Tape tape(false);
  RunningStatistics running;
  Var y = batch_norm(tape, tape.constant(x.view()), tape.constant(gain.view()),
                     tape.constant(bias.view()), running, true);
  double squares = 0;
  for (size_t r = 0; r < 5000; ++r) squares += std::pow(y.value()(r, 2), 2) / 5000;
  EXPECT_NEAR(squares, 1.0, 1e-3);
}

}  // namespace
}  // namespace spex
