#include <spex/core/error.h>
#include <spex/ops/linear_attention.h>
#include <spex/ops/norms.h>

#include "double_reference.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

struct Shape {
  size_t queries, keys, heads, key_width, value_width;  // widths of one head
};

// The formula as it stands, a pair of nodes at a time.
std::vector<double> plain(const std::vector<double>& q, const std::vector<double>& k,
                          const std::vector<double>& v, const Shape& s,
                          const LinearAttentionOptions& o) {
  size_t qk = s.heads * s.key_width, vw = s.heads * s.value_width;
  std::vector<double> out(s.queries * vw);
  for (size_t i = 0; i < s.queries; ++i)
    for (size_t h = 0; h < s.heads; ++h) {
      double denominator = o.constant;
      std::vector<double> sum(s.value_width, 0.0);
      for (size_t j = 0; j < s.keys; ++j) {
        double score = 0;
        for (size_t e = h * s.key_width; e < (h + 1) * s.key_width; ++e)
          score += q[i * qk + e] * k[j * qk + e];
        if (o.key_weights) score *= o.key_weights.value()(j, h);
        denominator += score;
        for (size_t d = 0; d < s.value_width; ++d)
          sum[d] += (score + o.value_sum) * v[j * vw + h * s.value_width + d];
      }
      for (size_t d = 0; d < s.value_width; ++d) {
        size_t at = i * vw + h * s.value_width + d;
        if (o.own_value != 0) sum[d] += o.own_value * v[at];
        out[at] = sum[d] / denominator;
      }
    }
  return out;
}

// Positive numbers: no denominator comes near zero.
Matrix positive(size_t rows, size_t cols, uint64_t seed) {
  Matrix matrix = random_matrix(rows, cols, seed, 0.3);
  for (float& value : matrix.span()) value = std::abs(value) + 0.1F;
  return matrix;
}

void expect_formula(const Shape& s, const LinearAttentionOptions& options) {
  SCOPED_TRACE(::testing::Message() << s.queries << " x " << s.keys << ", " << s.heads
                                    << " heads of " << s.key_width << ", " << s.value_width);
  expect_matches(
      matrices(positive(s.queries, s.heads * s.key_width, 1),
               positive(s.keys, s.heads * s.key_width, 2),
               random_matrix(s.keys, s.heads * s.value_width, 3)),
      [&](Tape& tape, std::vector<Var>& in) {
        return linear_attention(tape, in[0], in[1], in[2], s.heads, options);
      },
      [&](const Doubles& in) { return plain(in[0], in[1], in[2], s, options); });
}

TEST(LinearAttention, MatchesDoublePrecisionForAllThreeModels) {
  for (auto [nodes, heads, width] :
       {std::array<size_t, 3>{1, 1, 1}, {7, 1, 17}, {40, 4, 16}, {33, 3, 5}, {300, 1, 3}}) {
    Shape shape{nodes, nodes, heads, width, width};
    auto count = static_cast<float>(nodes);
    expect_formula(shape, {.own_value = count, .constant = count});
    expect_formula(shape, {.value_sum = 1.0F, .constant = count});
    expect_formula(shape, {});
    expect_formula(shape, {.own_value = 0.5F, .value_sum = 2.0F, .constant = 3.0F});
  }
}

TEST(LinearAttention, ServesOtherKeysWidthsAndWeights) {
  Var weights = Tape().constant(positive(21, 2, 9));
  expect_formula({13, 21, 2, 6, 11}, {.key_weights = weights});
  expect_formula({300, 21, 2, 11, 3}, {.value_sum = 1.5F, .key_weights = weights});
  expect_formula({0, 3, 1, 4, 4}, {.constant = 1.0F});
  expect_formula({3, 0, 1, 4, 4}, {.constant = 1.0F});
}

TEST(LinearAttention, TakesOneVarForSeveralInputs) {
  Shape shape{9, 9, 2, 3, 3};
  LinearAttentionOptions options{.own_value = 2.0F, .value_sum = 1.0F, .constant = 0.5F};
  auto run = [&](Tape& tape, std::vector<Var>& in) {
    return linear_attention(tape, in[0], in[0], in.back(), 2, options);
  };
  auto program = [&](const Doubles& in) { return plain(in[0], in[0], in.back(), shape, options); };
  expect_matches(matrices(positive(9, 6, 1), random_matrix(9, 6, 2)), run, program);
  expect_matches(matrices(positive(9, 6, 1)), run, program);
}

TEST(LinearAttention, SameBytesForAnyThreadCount) {
  expect_same_bytes_for_any_thread_count(
      matrices(positive(5000, 12, 1), positive(5000, 12, 2), random_matrix(5000, 20, 3)),
      [](Tape& tape, std::vector<Var>& in) {
        return linear_attention(tape, in[0], in[1], in[2], 4,
                                {.own_value = 3.0F, .value_sum = 1.0F, .constant = 9.0F});
      });
}

TEST(LinearAttention, RejectsShapesThatDoNotMatch) {
  Tape tape;
  auto var = [&](size_t rows, size_t cols) { return tape.variable(random_matrix(rows, cols, 1)); };
  EXPECT_THROW(linear_attention(tape, var(4, 6), var(4, 6), var(4, 6), 4, {}), Error);
  EXPECT_THROW(linear_attention(tape, var(4, 6), var(4, 4), var(4, 6), 2, {}), Error);
  EXPECT_THROW(linear_attention(tape, var(4, 6), var(4, 6), var(5, 6), 2, {}), Error);
  EXPECT_THROW(linear_attention(tape, var(4, 6), var(5, 6), var(5, 6), 2, {.own_value = 1.0F}),
               Error);
  Var weights = tape.constant(random_matrix(4, 3, 1));
  EXPECT_THROW(linear_attention(tape, var(4, 6), var(4, 6), var(4, 6), 2, {.key_weights = weights}),
               Error);
}

TEST(NormalizeMatrix, MatchesDoublePrecisionForwardAndBackward) {
  auto run = [](Tape& tape, std::vector<Var>& in) { return normalize_matrix(tape, in[0]); };
  for (size_t cols : kWidths)
    for (size_t rows : {0, 1, 23})
      expect_matches(matrices(random_matrix(rows, cols, 1)), run, [](const Doubles& in) {
        double square = 0;
        for (double value : in[0]) square += value * value;
        std::vector<double> y = in[0];
        for (double& value : y) value /= std::sqrt(square);
        return y;
      });
  expect_same_bytes_for_any_thread_count(matrices(random_matrix(30000, 7, 1)), run);
}

TEST(NormalizeMatrix, LeavesZerosAlone) {
  Tape tape;
  Var x = tape.variable(Matrix::zeros(3, 2, MemoryTag::other)), y = normalize_matrix(tape, x);
  tape.backward(linear_form(tape, y));
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(y.value().data[i], 0.0F);
    EXPECT_TRUE(std::isfinite(x.gradient()->view().data[i]));
  }
}

}  // namespace
}  // namespace spex
