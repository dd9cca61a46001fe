#include <gtest/gtest.h>
#include <spex/core/memory.h>
#include <spex/tensor/parameters.h>
#include <spex/tensor/tape.h>

#include "gradient_check.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

constexpr size_t kRows = 64, kCols = 16;
constexpr size_t kBytes = kRows * kCols * sizeof(float);

size_t activations() {
  return memory_use(MemoryTag::activations).current;
}

// y = 2 x; backward needs neither x nor y.
Var twice(Tape& tape, const Var& x) {
  Matrix y(x.rows(), x.cols(), MemoryTag::activations);
  for (size_t i = 0; i < y.size(); ++i) y.data()[i] = 2 * x.value().data[i];
  return tape.result_owning(Tape::share(std::move(y)), {x}, [dx = x.gradient()](Matrix dy) {
    for (float& value : dy.span()) value *= 2;
    dx->give(std::move(dy));
  });
}

// y = x^2; backward keeps x.
Var square(Tape& tape, const Var& x) {
  Matrix y(x.rows(), x.cols(), MemoryTag::activations);
  for (size_t i = 0; i < y.size(); ++i) y.data()[i] = x.value().data[i] * x.value().data[i];
  return tape.result_owning(Tape::share(std::move(y)), {x},
                            [kx = x.keep(), dx = x.gradient()](Matrix dy) {
                              for (size_t i = 0; i < dy.size(); ++i)
                                dy.data()[i] *= 2 * kx->view().data[i];
                              dx->give(std::move(dy));
                            });
}

// A part of x's buffer.
Var first_half(Tape& tape, const Var& x) {
  auto part = std::make_shared<Value>(x.value().block(0, x.rows() / 2), x.keep());
  return tape.result_owning(part, {}, {});
}

TEST(Tape, AValueThatNoBackwardCapturedDiesWithItsVar) {
  size_t before = activations();
  Tape tape;
  Var x = tape.variable(random_matrix(kRows, kCols, 1));
  Var y = twice(tape, x);
  EXPECT_EQ(activations(), before + kBytes);
  y = twice(tape, y);
  EXPECT_EQ(activations(), before + kBytes);
  Var z = square(tape, y);
  y = {};
  EXPECT_EQ(activations(), before + 2 * kBytes) << "square keeps its input";
}

TEST(Tape, ABufferIsTakenOverFromItsOnlyHolder) {
  Tape tape;
  Var x = tape.variable(random_matrix(kRows, kCols, 1)), y = twice(tape, x);
  const float* data = y.value().data;
  {
    Var other = y;
    EXPECT_NE(Tape::buffer_of(y).data(), data) << "somebody else holds it";
  }
  Var squared = square(tape, y);
  EXPECT_NE(Tape::buffer_of(y).data(), data) << "backward needs it";
  Matrix own = random_matrix(kRows, kCols, 2);
  EXPECT_NE(Tape::buffer_of(tape.constant(own.view())).data(), own.data()) << "the caller's";
  EXPECT_NE(Tape::buffer_of(first_half(tape, squared)).data(), squared.value().data) << "a part";
  data = squared.value().data;
  EXPECT_EQ(Tape::buffer_of(squared).data(), data);
}

TEST(Tape, BackwardFreesEachValueAfterItsLastUse) {
  size_t before = activations(), gradients = memory_use(MemoryTag::gradients).current;
  Tape tape;
  Var x = tape.variable(random_matrix(kRows, kCols, 1, 0.5));
  Var y = x;
  for (int layer = 0; layer < 4; ++layer) y = square(tape, y);
  EXPECT_EQ(activations(), before + 4 * kBytes);
  Var loss = linear_form(tape, y);
  y = {};
  reset_memory_peaks();
  tape.backward(loss);
  EXPECT_EQ(activations(), before);
  EXPECT_EQ(memory_use(MemoryTag::gradients).current, gradients + kBytes) << "that of x";
  EXPECT_EQ(memory_use(MemoryTag::gradients).peak, gradients + kBytes + sizeof(float))
      << "one gradient at a time, and that of the loss";
}

TEST(Tape, GradientsOfAValueUsedTwiceAddUp) {
  check_gradients(matrices(random_matrix(3, 4, 1)), [](Tape& tape, std::vector<Var>& in) {
    Var y = twice(tape, in[0]);
    Matrix sum = clone(y.value());
    add(sum, square(tape, in[0]).value());
    Var z = square(tape, in[0]);
    return tape.result(std::move(sum), {y, z},
                       [dy = y.gradient(), dz = z.gradient()](ConstMatrixView d) {
                         dy->give(clone(d));
                         dz->give(clone(d));
                       });
  });
}

TEST(Tape, ParameterGradientsAreAddedToTheTable) {
  Parameters parameters;
  Parameter& p = parameters.add("p", 1, 1);
  p.value(0, 0) = 3.0F;
  p.gradient(0, 0) = 10.0F;
  Tape tape;
  tape.backward(square(tape, tape.parameter(p)));
  EXPECT_EQ(p.gradient(0, 0), 16.0F);
}

TEST(Tape, ASilentTapeKeepsNothingAndItsBackwardDoesNothing) {
  size_t before = activations();
  Parameters parameters;
  Parameter& p = parameters.add("p", 1, 1);
  Tape silent(false);
  Var y = square(silent, twice(silent, silent.parameter(p)));
  EXPECT_EQ(activations(), before + sizeof(float)) << "y alone";
  EXPECT_EQ(y.gradient(), nullptr);
  silent.backward(y);
  EXPECT_EQ(p.gradient(0, 0), 0.0F);
}

TEST(Tape, OperationsOnConstantsAreNotRecorded) {
  Tape tape;
  size_t before = activations();
  { Var y = square(tape, twice(tape, tape.constant(random_matrix(kRows, kCols, 1)))); }
  EXPECT_EQ(activations(), before);
}

TEST(Tape, RejectsALossThatIsNotOneNumber) {
  Tape tape;
  EXPECT_THROW(tape.backward(tape.variable(random_matrix(2, 1, 1))), std::exception);
}

TEST(Gradient, AnAccumulatorStartsAtZeroAndKeepsWhatWasAdded) {
  Gradient gradient;
  gradient.accumulator(1, 2)(0, 1) += 3.0F;
  gradient.accumulator(1, 2)(0, 1) += 4.0F;
  EXPECT_EQ(gradient.view()(0, 0), 0.0F);
  EXPECT_EQ(gradient.view()(0, 1), 7.0F);
}

TEST(Parameters, ZeroGradientsForgetsTheStepBefore) {
  Parameters parameters;
  Parameter& weight = parameters.add("weight", 1, 2);
  fill(weight.gradient, 5.0F);
  parameters.zero_gradients();
  for (float value : weight.gradient.span()) EXPECT_EQ(value, 0.0F);
}

}  // namespace
}  // namespace spex
