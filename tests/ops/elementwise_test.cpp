#include <spex/core/error.h>
#include <spex/ops/elementwise.h>
#include <spex/ops/linear.h>

#include <cmath>

#include "double_reference.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

const Random kRandom(5, Purpose::dropout, 2, 1);

TEST(Relu, MatchesDoublePrecisionForwardAndBackward) {
  for (size_t cols : kWidths)
    expect_matches(
        matrices(random_matrix(23, cols, 1)),
        [](Tape& tape, std::vector<Var>& in) { return relu(tape, in[0]); },
        [](const Doubles& in) {
          std::vector<double> y = in[0];
          for (double& value : y) value = std::max(value, 0.0);
          return y;
        });
}

TEST(Add, MatchesDoublePrecisionForwardAndBackward) {
  for (size_t cols : kWidths)
    expect_matches(
        matrices(random_matrix(23, cols, 1), random_matrix(23, cols, 2)),
        [](Tape& tape, std::vector<Var>& in) { return add(tape, in[0], in[1]); },
        [](const Doubles& in) {
          std::vector<double> y = in[0];
          for (size_t i = 0; i < y.size(); ++i) y[i] += in[1][i];
          return y;
        });
}

TEST(Add, OfAValueToItselfDoublesTheGradient) {
  check_gradients(matrices(random_matrix(3, 4, 1)),
                  [](Tape& tape, std::vector<Var>& in) { return add(tape, in[0], in[0]); });
}

TEST(Scale, MatchesDoublePrecisionForwardAndBackward) {
  auto run = [](Tape& tape, std::vector<Var>& in) { return scale(tape, in[0], in[1]); };
  for (size_t cols : kWidths)
    expect_matches(matrices(random_matrix(23, cols, 1), random_matrix(1, 1, 2)), run,
                   [](const Doubles& in) {
                     std::vector<double> y = in[0];
                     for (double& value : y) value *= in[1][0];
                     return y;
                   });
  expect_same_bytes_for_any_thread_count(
      matrices(random_matrix(30000, 7, 1), random_matrix(1, 1, 2)), run);
}

// Between products with the identity, which change nothing.
Var relu_dropped(Tape& tape, const Var& x, float rate) {
  auto identity = [&] {
    Matrix matrix = Matrix::zeros(x.cols(), x.cols(), MemoryTag::other);
    for (size_t i = 0; i < x.cols(); ++i) matrix(i, i) = 1.0F;
    return tape.constant(std::move(matrix));
  };
  return feed_forward(tape, x, {identity(), {}, identity(), {}}, rate, kRandom);
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
          return relu_dropped(tape, in[0], static_cast<float>(rate));
        };
        expect_matches(matrices(random_matrix(137, cols, 1)), drop, [&](const Doubles& in) {
          Doubles positive = in;
          for (double& value : positive[0]) value = std::max(value, 0.0);
          return add_dropped_program(rate)(positive);
        });
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
    Var y = relu_dropped(tape, tape.variable(clone(ones)), rate);
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
        Var x = relu_dropped(tape, in[0], 0.3F);
        return add_dropped(tape, x, in[1], 0.4F, Random(6, Purpose::dropout));
      });
}

TEST(Dropout, WithRateZeroDropsNothing) {
  Tape tape;
  Var x = tape.variable(random_matrix(3, 4, 1));
  EXPECT_EQ(add_dropped(tape, x, x, 0.0F, kRandom).value()(1, 2), 2 * x.value()(1, 2));
  EXPECT_EQ(relu_dropped(tape, x, 0.0F).value()(1, 2), std::max(0.0F, x.value()(1, 2)));
}

TEST(Dropout, RejectsRatesOutsideZeroToOne) {
  Tape tape;
  Var x = tape.variable(random_matrix(3, 4, 1));
  EXPECT_THROW(relu_dropped(tape, x, 1.0F), Error);
  EXPECT_THROW(add_dropped(tape, x, x, -0.1F, kRandom), Error);
}

TEST(Elementwise, GradientsMatchFiniteDifferences) {
  check_gradients(
      matrices(random_matrix(5, 3, 1), random_matrix(5, 3, 2), random_matrix(1, 1, 3)),
      [](Tape& tape, std::vector<Var>& in) { return scale(tape, add(tape, in[0], in[1]), in[2]); });
}

TEST(Elementwise, RejectsShapesThatDoNotMatchAndRowsWithGaps) {
  Tape tape;
  Matrix wide = random_matrix(4, 6, 1);
  Var x = tape.variable(random_matrix(4, 3, 1)), gaps = tape.constant(wide.view().columns(0, 3));
  EXPECT_THROW(add(tape, x, tape.variable(random_matrix(3, 4, 1))), Error);
  EXPECT_THROW(scale(tape, x, x), Error);
  EXPECT_THROW(relu(tape, gaps), Error);
}

}  // namespace
}  // namespace spex
