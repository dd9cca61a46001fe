#include <spex/core/error.h>
#include <spex/ops/elementwise.h>
#include <spex/ops/rows.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "double_reference.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

const Random kRandom(5, Purpose::dropout, 2, 1);

using Function = double (*)(double);

// Widths of every kind, an empty matrix and a single row, against y = f(x).
void expect_function(Var (*operation)(Tape&, const Var&), Function f) {
  auto run = [&](Tape& tape, std::vector<Var>& in) { return operation(tape, in[0]); };
  auto program = [&](const Doubles& in) {
    std::vector<double> y = in[0];
    for (double& value : y) value = f(value);
    return y;
  };
  on_every_isa([&] {
    for (size_t cols : kWidths)
      for (size_t rows : {0, 1, 23})
        expect_matches(matrices(random_matrix(rows, cols, 1, 3.0)), run, program, 1e-6);
  });
  expect_same_bytes_for_any_thread_count(matrices(random_matrix(30000, 7, 1)), run);
}

TEST(Activations, MatchDoublePrecisionForwardAndBackward) {
  expect_function([](Tape& tape, const Var& x) { return relu(tape, x); },
                  [](double x) { return std::max(x, 0.0); });
  expect_function(sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); });
  expect_function(elu, [](double x) { return x > 0 ? x : std::expm1(x); });
  expect_function(gelu, [](double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); });
}

TEST(Activations, StayFiniteForHugeNumbersAndPassNaNOn) {
  for (auto operation : {sigmoid, elu, gelu}) {
    Matrix x(1, 3, MemoryTag::other);
    x(0, 0) = -1e30F;
    x(0, 1) = 1e30F;
    x(0, 2) = std::nanf("");
    Tape tape;
    Var in = tape.variable(std::move(x)), y = operation(tape, in);
    EXPECT_LE(std::abs(y.value()(0, 0)), 1.0F);
    EXPECT_TRUE(y.value()(0, 1) == 1.0F || y.value()(0, 1) == 1e30F);
    EXPECT_TRUE(std::isnan(y.value()(0, 2)));
    tape.backward(linear_form(tape, y));
    EXPECT_NEAR(in.gradient()->view()(0, 0), 0.0F, 1e-30);
  }
}

// Two matrices of one shape (or one matrix twice), against y = f(a, b).
void expect_function_of_two(Var (*operation)(Tape&, const Var&, const Var&),
                            double (*f)(double, double)) {
  auto run = [&](Tape& tape, std::vector<Var>& in) { return operation(tape, in[0], in.back()); };
  auto program = [&](const Doubles& in) {
    std::vector<double> y = in[0];
    for (size_t i = 0; i < y.size(); ++i) y[i] = f(in[0][i], in.back()[i]);
    return y;
  };
  for (size_t cols : kWidths)
    for (size_t rows : {0, 1, 23}) {
      expect_matches(matrices(random_matrix(rows, cols, 1), random_matrix(rows, cols, 2)), run,
                     program, 1e-6);
      expect_matches(matrices(random_matrix(rows, cols, 1)), run, program, 1e-6);
    }
  expect_same_bytes_for_any_thread_count(
      matrices(random_matrix(30000, 7, 1), random_matrix(30000, 7, 2)), run);
  Tape tape;  // one input alone wants a gradient
  Matrix constant = random_matrix(3, 2, 1);
  Var x = tape.variable(random_matrix(3, 2, 2));
  tape.backward(linear_form(tape, operation(tape, tape.constant(constant.view()), x)));
  EXPECT_TRUE(x.gradient()->filled());
  tape.backward(linear_form(tape, operation(tape, x, tape.constant(constant.view()))));
}

TEST(TwoMatrices, MatchDoublePrecisionForwardAndBackwardAlsoWhenTheyAreOne) {
  expect_function_of_two([](Tape& tape, const Var& a, const Var& b) { return add(tape, a, b); },
                         [](double a, double b) { return a + b; });
  expect_function_of_two(multiply, [](double a, double b) { return a * b; });
  expect_function_of_two(
      [](Tape& tape, const Var& a, const Var& b) { return combine(tape, a, 0.25F, b, -3.0F); },
      [](double a, double b) { return 0.25 * a - 3 * b; });
}

// What is handed over is written to: the same numbers and gradients as from a buffer of their own.
TEST(HandedOver, ResultsAndGradientsAreThoseOfABufferOfTheirOwn) {
  using Run = std::function<Var(Tape&, Var, const Var&)>;  // of a matrix and one of its shape
  const Run runs[] = {
      [](Tape& tape, Var x, const Var&) { return relu(tape, std::move(x)); },
      [](Tape& tape, Var x, const Var&) {
        return relu_dropped(tape, std::move(x), 0.3F, Random(1, Purpose::dropout));
      },
      [](Tape& tape, Var x, const Var& b) {
        return add_row(tape, std::move(x), first_rows(tape, b, 1));
      },
      [](Tape& tape, Var x, const Var& b) { return combine(tape, std::move(x), 0.5F, b, -2.0F); },
  };
  for (const Run& run : runs)
    for (size_t cols : kWidths) {
      Matrix results[2], gradients[2][2];
      for (bool handed : {false, true}) {
        Tape tape;
        Var a = tape.variable(random_matrix(23, cols, 1)),
            b = tape.variable(random_matrix(23, cols, 2));
        Var x = scale(tape, a, 1.5F);
        const float* buffer = x.value().data;
        Var y = handed ? run(tape, std::move(x), b) : run(tape, x, b);
        EXPECT_EQ(y.value().data == buffer, handed);
        results[handed] = clone(y.value());
        tape.backward(linear_form(tape, y));
        gradients[handed][0] = clone(a.gradient()->view());
        gradients[handed][1] = b.gradient()->filled() ? clone(b.gradient()->view()) : Matrix();
      }
      EXPECT_TRUE(std::ranges::equal(results[0].span(), results[1].span()));
      for (size_t i = 0; i < 2; ++i)
        EXPECT_TRUE(std::ranges::equal(gradients[0][i].span(), gradients[1][i].span()));
    }
}

TEST(Scale, ByAConstantMatchesDoublePrecision) {
  expect_function([](Tape& tape, const Var& x) { return scale(tape, x, -2.5F); },
                  [](double x) { return -2.5 * x; });
}

TEST(Scale, ByLearnedFactorsOfGroupsOfColumnsMatchesDoublePrecision) {
  auto run = [](Tape& tape, std::vector<Var>& in) { return scale(tape, in[0], in[1]); };
  for (size_t cols : kWidths)
    for (size_t groups : {size_t{1}, cols % 2 == 0 ? cols / 2 : 1, cols})
      for (size_t rows : {0, 1, 23})
        expect_matches(matrices(random_matrix(rows, cols, 1), random_matrix(1, groups, 2)), run,
                       [&](const Doubles& in) {
                         std::vector<double> y = in[0];
                         for (size_t i = 0; i < y.size(); ++i)
                           y[i] *= in[1][i % cols / (cols / groups)];
                         return y;
                       });
  expect_same_bytes_for_any_thread_count(
      matrices(random_matrix(30000, 6, 1), random_matrix(1, 2, 2)), run);
}

TEST(AddRow, MatchesDoublePrecisionForwardAndBackward) {
  auto run = [](Tape& tape, std::vector<Var>& in) { return add_row(tape, in[0], in[1]); };
  for (size_t cols : kWidths)
    for (size_t rows : {0, 1, 23})
      expect_matches(matrices(random_matrix(rows, cols, 1), random_matrix(1, cols, 2)), run,
                     [&](const Doubles& in) {
                       std::vector<double> y = in[0];
                       for (size_t i = 0; i < y.size(); ++i) y[i] += in[1][i % cols];
                       return y;
                     });
  expect_same_bytes_for_any_thread_count(
      matrices(random_matrix(30000, 7, 1), random_matrix(1, 7, 2)), run);
}

TEST(Interpolate, MatchesDoublePrecisionForwardAndBackward) {
  auto run = [](Tape& tape, std::vector<Var>& in) {
    return interpolate(tape, in[0], in[1], in.back());
  };
  for (size_t cols : kWidths)
    for (size_t rows : {0, 1, 23})
      expect_matches(matrices(random_matrix(rows, cols, 1), random_matrix(rows, cols, 2),
                              random_matrix(1, cols, 3)),
                     run, [&](const Doubles& in) {
                       std::vector<double> y = in[0];
                       for (size_t i = 0; i < y.size(); ++i)
                         y[i] += in[2][i % cols] * (in[1][i] - in[0][i]);
                       return y;
                     });
  expect_same_bytes_for_any_thread_count(
      matrices(random_matrix(30000, 7, 1), random_matrix(30000, 7, 2), random_matrix(1, 7, 3)),
      run);
}

// The definition: 16 random bits per number decide, read in the order of memory.
bool kept(size_t index, double rate) {
  uint32_t word = kRandom.bits(index / 8)[index % 8 / 2];
  uint32_t bits = index % 2 == 0 ? word & 0xFFFF : word >> 16;
  return bits < std::lround((1 - rate) * 65536);
}

DoubleProgram add_dropped_program(double rate) {
  return [rate](const Doubles& in) {
    double factor = 65536.0 / static_cast<double>(std::lround((1 - rate) * 65536));
    std::vector<double> y = in.size() > 1 ? in[0] : std::vector<double>(in[0].size(), 0.0);
    for (size_t i = 0; i < y.size(); ++i)
      if (kept(i, rate)) y[i] += factor * in.back()[i];
    return y;
  };
}

TEST(Dropout, MatchesItsDefinitionForwardAndBackwardOnEveryInstructionSet) {
  on_every_isa([] {
    for (size_t cols : kWidths)
      for (double rate : {0.1, 0.5, 0.9}) {
        auto drop = [&](Tape& tape, std::vector<Var>& in) {
          return relu_dropped(tape, in[0], static_cast<float>(rate), kRandom);
        };
        expect_matches(matrices(random_matrix(137, cols, 1)), drop, [&](const Doubles& in) {
          Doubles positive = in;
          for (double& value : positive[0]) value = std::max(value, 0.0);
          return add_dropped_program(rate)(positive);
        });
        auto only_drop = [&](Tape& tape, std::vector<Var>& in) {
          return dropout(tape, in[0], static_cast<float>(rate), kRandom);
        };
        expect_matches(matrices(random_matrix(37, cols, 1)), only_drop, add_dropped_program(rate));
        auto add_drop = [&](Tape& tape, std::vector<Var>& in) {
          return add_dropped(tape, in[0], in[1], static_cast<float>(rate), kRandom);
        };
        expect_matches(matrices(random_matrix(37, cols, 1), random_matrix(37, cols, 2)), add_drop,
                       add_dropped_program(rate));
      }
  });
}

TEST(Dropout, DropsTheGivenShareAndPreservesTheMean) {
  Matrix ones(4000, 100, MemoryTag::other);
  fill(ones, 1.0F);
  for (float rate : {0.1F, 0.5F, 0.8F}) {
    Tape tape;
    Var y = relu_dropped(tape, tape.variable(clone(ones)), rate, kRandom);
    double sum = 0, zeros = 0;
    for (size_t i = 0; i < ones.size(); ++i) {
      sum += y.value().data[i];
      zeros += y.value().data[i] == 0.0F;
    }
    double n = static_cast<double>(ones.size());
    double deviation = std::sqrt(rate * (1 - rate) / n);
    EXPECT_NEAR(zeros / n, rate, 5 * deviation + 1e-5);
    EXPECT_NEAR(sum / n, 1.0, 5 * deviation / (1 - rate));
  }
}

TEST(Dropout, SameBytesForAnyThreadCount) {
  expect_same_bytes_for_any_thread_count(
      matrices(random_matrix(50000, 5, 1), random_matrix(50000, 5, 2)),
      [](Tape& tape, std::vector<Var>& in) {
        Var x = relu_dropped(tape, dropout(tape, in[0], 0.2F, Random(7, Purpose::dropout)), 0.3F,
                             kRandom);
        return add_dropped(tape, x, in[1], 0.4F, Random(6, Purpose::dropout));
      });
}

TEST(Dropout, WithRateZeroDropsNothing) {
  Tape tape;
  Var x = tape.variable(random_matrix(3, 4, 1));
  EXPECT_EQ(dropout(tape, x, 0.0F, kRandom).value().data, x.value().data);
  EXPECT_EQ(add_dropped(tape, x, x, 0.0F, kRandom).value()(1, 2), 2 * x.value()(1, 2));
  EXPECT_EQ(relu_dropped(tape, x, 0.0F, kRandom).value()(1, 2), std::max(0.0F, x.value()(1, 2)));
}

TEST(Dropout, RejectsRatesOutsideZeroToOne) {
  Tape tape;
  Var x = tape.variable(random_matrix(3, 4, 1));
  EXPECT_THROW(relu_dropped(tape, x, 1.0F, kRandom), Error);
  EXPECT_THROW(add_dropped(tape, x, x, -0.1F, kRandom), Error);
}

TEST(Elementwise, RejectsShapesThatDoNotMatchAndRowsWithGaps) {
  Tape tape;
  Matrix wide = random_matrix(4, 6, 1);
  Var x = tape.variable(random_matrix(4, 3, 1)), gaps = tape.constant(wide.view().columns(0, 3));
  EXPECT_THROW(add(tape, x, tape.variable(random_matrix(3, 4, 1))), Error);
  EXPECT_THROW(multiply(tape, x, gaps), Error);
  EXPECT_THROW(scale(tape, x, x), Error);
  EXPECT_THROW(scale(tape, x, tape.variable(random_matrix(1, 2, 1))), Error);
  EXPECT_THROW(add_row(tape, x, x), Error);
  EXPECT_THROW(interpolate(tape, x, x, x), Error);
  EXPECT_THROW(dropout(tape, gaps, 0.5F, kRandom), Error);
  EXPECT_THROW(relu(tape, gaps), Error);
}

}  // namespace
}  // namespace spex
