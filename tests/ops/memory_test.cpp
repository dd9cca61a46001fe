// What a network's operations leave on the tape, counted by hand.
#include <spex/ops/elementwise.h>
#include <spex/ops/linear.h>
#include <spex/ops/norms.h>

#include "gradient_check.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

constexpr size_t kRows = 500, kCols = 24, kLayers = 5;
constexpr size_t kBytes = kRows * kCols * sizeof(float);

// The largest number of activation bytes while `layer` is applied kLayers times, loss and backward
// included (the loss is one number more).
template <class Layer>
size_t peak_of(bool recording, Layer&& layer) {
  Matrix weight = random_matrix(kCols, kCols, 2, 0.2), row = random_matrix(1, kCols, 3);
  Matrix input = random_matrix(kRows, kCols, 1);
  size_t before = memory_use(MemoryTag::activations).current;
  reset_memory_peaks();
  Tape tape(recording);
  Var w = tape.variable(clone(weight)), b = tape.variable(clone(row)),
      x = tape.constant(input.view());
  for (size_t i = 0; i < kLayers; ++i) x = layer(tape, x, w, b);
  Var loss = linear_form(tape, x);
  x = {};
  tape.backward(loss);
  EXPECT_EQ(memory_use(MemoryTag::activations).current, before);
  return memory_use(MemoryTag::activations).peak - before;
}

TEST(ActivationMemory, LinearKeepsItsInput) {
  auto layer = [](Tape& tape, const Var& x, const Var& w, const Var& b) {
    return linear(tape, x, w, b);
  };
  EXPECT_EQ(peak_of(true, layer), kLayers * kBytes);
  EXPECT_EQ(peak_of(false, layer), 2 * kBytes) << "a layer's input and output";
}

TEST(ActivationMemory, AReluTakesOverWhatItWasGiven) {
  auto layer = [](Tape& tape, const Var& x, const Var& w, const Var& b) {
    return relu(tape, linear(tape, x, w, b));
  };
  EXPECT_EQ(peak_of(true, layer), kLayers * kBytes);
}

TEST(ActivationMemory, ADroppedReluKeepsNoMoreThanARelu) {
  Random random(1, Purpose::dropout);
  auto fused = [&](Tape& tape, const Var& x, const Var& w, const Var& b) {
    return relu_dropped(tape, linear(tape, x, w, b), 0.3F, random);
  };
  auto apart = [&](Tape& tape, const Var& x, const Var& w, const Var& b) {
    return dropout(tape, relu(tape, linear(tape, x, w, b)), 0.3F, random);
  };
  EXPECT_EQ(peak_of(true, fused), kLayers * kBytes);
  EXPECT_EQ(peak_of(true, apart), 2 * kLayers * kBytes);
}

TEST(ActivationMemory, FeedForwardKeepsItsInputAndResidualsKeepNothing) {
  auto layer = [](Tape& tape, const Var& x, const Var& w, const Var& b) {
    Random random(1, Purpose::dropout);
    return add_dropped(tape, x, feed_forward(tape, x, {w, b, w, b}, 0.3F, random), 0.2F, random);
  };
  // Each layer leaves its result, which the next one keeps; while the last runs, the branch lives
  // as well. In between, both threads have a block of the hidden layer.
  EXPECT_LE(peak_of(true, layer), (kLayers + 2) * kBytes);
}

TEST(ActivationMemory, NormsKeepTheirInput) {
  auto layer = [](Tape& tape, const Var& x, const Var& w, const Var& b) {
    return layer_norm(tape, linear(tape, x, w), b, b);
  };
  EXPECT_EQ(peak_of(true, layer), 2 * kLayers * kBytes);
}

}  // namespace
}  // namespace spex
