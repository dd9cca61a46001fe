#include <spex/core/error.h>
#include <spex/ops/losses.h>

#include <cmath>
#include <limits>

#include "double_reference.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();
constexpr size_t kNodes = 40;

std::vector<NodeId> every_third() {
  std::vector<NodeId> rows;
  for (NodeId row = 0; row < kNodes; row += 3) rows.push_back(row);
  return rows;
}

// Known for every third node only.
std::vector<int32_t> some_classes(size_t count) {
  std::vector<int32_t> classes(kNodes, -1);
  Random random(4, Purpose::test);
  for (NodeId row : every_third()) classes[row] = static_cast<int32_t>(random.below(count, row));
  return classes;
}

// 0, 1 or missing; or any number or missing.
Matrix some_targets(size_t cols, bool binary) {
  Matrix targets = random_matrix(kNodes, cols, 5);
  for (size_t i = 0; i < targets.size(); ++i) {
    float& t = targets.data()[i];
    if (binary) t = t > 0 ? 1.0F : 0.0F;
    if (i % 7 == 3) t = kMissing;
  }
  return targets;
}

// One per node, or none.
std::vector<float> some_weights(bool weighted) {
  std::vector<float> weights;
  for (size_t i = 0; weighted && i < kNodes; ++i)
    weights.push_back(static_cast<float>(i % 4) * 0.7F);
  return weights;
}

double weight_of(const std::vector<float>& weights, NodeId row) {
  return weights.empty() ? 1.0 : weights[row];
}

// The sum of weight * term(logit, target) over the targets of every third row that are present,
// over their number.
template <class Term>
DoubleProgram mean_program(const Matrix& targets, const std::vector<float>& weights, Term term) {
  return [&targets, &weights, term](const Doubles& in) {
    double sum = 0, count = 0;
    std::vector<NodeId> rows = every_third();
    for (size_t i = 0; i < rows.size(); ++i)
      for (size_t c = 0; c < targets.cols(); ++c) {
        float target = targets(rows[i], c);
        if (std::isnan(target)) continue;
        sum += weight_of(weights, rows[i]) * term(in[0][rows[i] * targets.cols() + c], target);
        ++count;
      }
    return std::vector<double>{sum / count};
  };
}

double logistic(double z, double t) {
  double p = 1 / (1 + std::exp(-z));
  return -t * std::log(p) - (1 - t) * std::log(1 - p);
}

TEST(SoftmaxCrossEntropy, MatchesDoublePrecisionWithAndWithoutRowWeights) {
  std::vector<NodeId> rows = every_third();
  for (size_t count : kWidths) {
    std::vector<int32_t> classes = some_classes(count);
    for (bool weighted : {false, true}) {
      std::vector<float> weights = some_weights(weighted);
      auto program = [&](const Doubles& in) {
        double sum = 0;
        for (size_t i = 0; i < rows.size(); ++i) {
          const double* z = &in[0][rows[i] * count];
          double denominator = 0;
          for (size_t c = 0; c < count; ++c) denominator += std::exp(z[c]);
          sum -=
              weight_of(weights, rows[i]) * std::log(std::exp(z[classes[rows[i]]]) / denominator);
        }
        return std::vector<double>{sum / static_cast<double>(rows.size())};
      };
      expect_matches(
          matrices(random_matrix(kNodes, count, 1)),
          [&](Tape& tape, std::vector<Var>& in) {
            return softmax_cross_entropy(tape, in[0], classes, rows, weights);
          },
          program, 1e-5, 200);
    }
  }
}

TEST(BinaryCrossEntropy, MatchesDoublePrecisionWithMissingLabelsAndRowWeights) {
  std::vector<NodeId> rows = every_third();
  for (size_t cols : kWidths)
    for (bool weighted : {false, true}) {
      Matrix targets = some_targets(cols, true);
      std::vector<float> weights = some_weights(weighted);
      expect_matches(
          matrices(random_matrix(kNodes, cols, 1)),
          [&](Tape& tape, std::vector<Var>& in) {
            return binary_cross_entropy(tape, in[0], targets.view(), rows, weights);
          },
          mean_program(targets, weights, logistic), 1e-5, 200);
    }
}

TEST(BinaryCrossEntropy, OfClassesEqualsThatOfTargets) {
  std::vector<NodeId> rows = every_third();
  std::vector<int32_t> classes = some_classes(2);
  Matrix targets(kNodes, 1, MemoryTag::other);
  for (size_t r = 0; r < kNodes; ++r) targets(r, 0) = static_cast<float>(classes[r]);
  for (bool weighted : {false, true}) {
    std::vector<float> weights = some_weights(weighted);
    expect_matches(
        matrices(random_matrix(kNodes, 1, 1)),
        [&](Tape& tape, std::vector<Var>& in) {
          return binary_cross_entropy(tape, in[0], classes, rows, weights);
        },
        mean_program(targets, weights, logistic), 1e-5, 200);
  }
}

TEST(MeanSquaredError, MatchesDoublePrecisionWithMissingTargetsAndRowWeights) {
  std::vector<NodeId> rows = every_third();
  for (size_t cols : kWidths)
    for (bool weighted : {false, true}) {
      Matrix targets = some_targets(cols, false);
      std::vector<float> weights = some_weights(weighted);
      expect_matches(
          matrices(random_matrix(kNodes, cols, 1)),
          [&](Tape& tape, std::vector<Var>& in) {
            return mean_squared_error(tape, in[0], targets.view(), rows, weights);
          },
          mean_program(targets, weights, [](double z, double t) { return (z - t) * (z - t); }),
          1e-5, 200);
    }
}

TEST(Losses, GradientsMatchFiniteDifferences) {
  std::vector<NodeId> rows = every_third();
  std::vector<int32_t> classes = some_classes(3);
  check_gradients(matrices(random_matrix(kNodes, 3, 1)), [&](Tape& tape, std::vector<Var>& in) {
    return softmax_cross_entropy(tape, in[0], classes, rows);
  });
}

TEST(Losses, StayFiniteForHugeLogits) {
  Matrix logits(1, 2, MemoryTag::other);
  logits(0, 0) = 1e4F;
  logits(0, 1) = -1e4F;
  Tape tape;
  std::vector<int32_t> classes = {1};
  std::vector<NodeId> rows = {0};
  Matrix targets = Matrix::zeros(1, 2, MemoryTag::other);
  Var z = tape.variable(std::move(logits));
  EXPECT_FLOAT_EQ(softmax_cross_entropy(tape, z, classes, rows).value()(0, 0), 2e4F);
  EXPECT_FLOAT_EQ(binary_cross_entropy(tape, z, targets.view(), rows).value()(0, 0), 5e3F);
}

TEST(Losses, SameBytesForAnyThreadCount) {
  size_t nodes = 9000;
  std::vector<int32_t> classes(nodes);
  std::vector<NodeId> rows(nodes);
  for (size_t i = 0; i < nodes; ++i) {
    classes[i] = static_cast<int32_t>(i % 5);
    rows[i] = static_cast<NodeId>(nodes - 1 - i);
  }
  expect_same_bytes_for_any_thread_count(matrices(random_matrix(nodes, 5, 1)),
                                         [&](Tape& tape, std::vector<Var>& in) {
                                           return softmax_cross_entropy(tape, in[0], classes, rows);
                                         });
}

TEST(Losses, RejectUnknownClassesEmptySubsetsAndRowsThatAreNotThere) {
  Tape tape;
  Var z = tape.variable(random_matrix(3, 2, 1));
  std::vector<int32_t> classes = {0, -1, 1};
  EXPECT_THROW(softmax_cross_entropy(tape, z, classes, std::vector<NodeId>{0, 1}), Error);
  EXPECT_THROW(softmax_cross_entropy(tape, z, classes, std::vector<NodeId>{}), Error);
  EXPECT_THROW(softmax_cross_entropy(tape, z, classes, std::vector<NodeId>{3}), Error);
  EXPECT_THROW(
      softmax_cross_entropy(tape, z, classes, std::vector<NodeId>{0, 2}, std::vector<float>{1.0F}),
      Error);
  EXPECT_THROW(binary_cross_entropy(tape, z, classes, std::vector<NodeId>{0}), Error);
}

}  // namespace
}  // namespace spex
