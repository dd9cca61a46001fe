#include <spex/core/error.h>
#include <spex/ops/dense_attention.h>

#include <limits>

#include "double_reference.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

std::vector<double> softmax(std::vector<double> scores) {
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score);
  for (double& score : scores) score /= sum > 0 ? sum : 1;
  return scores;
}

// Rows [first_key, first_key + keys) of k and v, seen by row i of q, in the columns of one head.
struct Head {
  size_t cols, first, width;
  double scale;
};
void attend(std::vector<double>& out, const std::vector<double>& q, const std::vector<double>& k,
            const std::vector<double>& v, size_t i, size_t first_key, size_t keys, const Head& head,
            std::span<const float> bias = {}) {
  std::vector<double> scores(keys);
  for (size_t j = 0; j < keys; ++j) {
    for (size_t d = head.first; d < head.first + head.width; ++d)
      scores[j] += head.scale * q[i * head.cols + d] * k[(first_key + j) * head.cols + d];
    if (!bias.empty()) scores[j] += bias[j];
  }
  std::vector<double> p = softmax(scores);
  for (size_t d = head.first; d < head.first + head.width; ++d)
    for (size_t j = 0; j < keys; ++j)
      out[i * head.cols + d] += p[j] * v[(first_key + j) * head.cols + d];
}

DoubleProgram all_pairs_program(size_t keys, size_t cols, size_t heads, AllPairsOptions options) {
  return [=](const Doubles& in) {
    std::vector<double> out(in[0].size(), 0.0);
    for (size_t i = 0; i < in[0].size() / cols; ++i)
      for (size_t h = 0; h < heads; ++h)
        attend(out, in[0], in.size() > 1 ? in[1] : in[0], in.back(), i, 0, keys,
               {cols, h * cols / heads, cols / heads, options.scale}, options.key_bias);
    return out;
  };
}

void expect_all_pairs(size_t queries, size_t keys, size_t heads, size_t width, double size = 1.0,
                      std::span<const float> bias = {}) {
  SCOPED_TRACE(::testing::Message() << queries << " x " << keys << ", " << heads << " x " << width);
  size_t cols = heads * width;
  AllPairsOptions options{0.4F, bias};
  expect_matches(
      matrices(random_matrix(queries, cols, 1, size), random_matrix(keys, cols, 2, size),
               random_matrix(keys, cols, 3)),
      [&](Tape& tape, std::vector<Var>& in) {
        return all_pairs_attention(tape, in[0], in[1], in[2], heads, options);
      },
      all_pairs_program(keys, cols, heads, options), 2e-5, 6);
}

TEST(AllPairsAttention, MatchesDoublePrecisionOnEveryInstructionSet) {
  on_every_isa([] {
    for (auto [queries, keys, heads, width] : {std::array<size_t, 4>{1, 1, 1, 1},
                                               {5, 3, 1, 17},
                                               {70, 30, 2, 8},
                                               {17, 90, 3, 5},
                                               {0, 3, 1, 4},
                                               {3, 0, 1, 4}})
      expect_all_pairs(queries, keys, heads, width);
  });
  expect_all_pairs(66, 1100, 1, 3);      // several blocks of both
  expect_all_pairs(20, 600, 1, 2, 4.0);  // scores far apart
}

TEST(AllPairsAttention, AddsABiasPerKeyOfWhichMinusInfinityLeavesAKeyOut) {
  std::vector<float> bias(600);
  for (size_t j = 0; j < bias.size(); ++j) bias[j] = static_cast<float>(j % 5) - 2.0F;
  for (size_t j = 0; j < 520; ++j) bias[j] = -std::numeric_limits<float>::infinity();
  expect_all_pairs(9, 600, 2, 3, 1.0, bias);
  std::fill(bias.begin(), bias.end(), bias[0]);
  Tape tape;
  Var k = tape.variable(random_matrix(600, 4, 2)), q = tape.variable(random_matrix(2, 4, 1));
  Var out = all_pairs_attention(tape, q, k, k, 2, {1.0F, bias});
  tape.backward(linear_form(tape, out));
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(out.value().data[i], 0.0F);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(q.gradient()->view().data[i], 0.0F);
}

TEST(AllPairsAttention, TakesOneVarForAllInputs) {
  expect_matches(
      matrices(random_matrix(11, 6, 1)),
      [](Tape& tape, std::vector<Var>& in) {
        return all_pairs_attention(tape, in[0], in[0], in[0], 2, {0.4F, {}});
      },
      all_pairs_program(11, 6, 2, {0.4F, {}}));
}

TEST(AllPairsAttention, SameBytesForAnyThreadCount) {
  expect_same_bytes_for_any_thread_count(
      matrices(random_matrix(700, 12, 1), random_matrix(600, 12, 2), random_matrix(600, 12, 3)),
      [](Tape& tape, std::vector<Var>& in) {
        return all_pairs_attention(tape, in[0], in[1], in[2], 3, {0.5F, {}});
      });
}

TEST(AllPairsAttention, NeverHoldsAllPairs) {
  size_t nodes = 4000, cols = 8;
  Tape tape;
  Var x = tape.variable(random_matrix(nodes, cols, 1));
  size_t before = memory_use().current;
  reset_memory_peaks();
  Var y = all_pairs_attention(tape, x, x, x, 1, {});
  EXPECT_LE(memory_use().current - before, nodes * (cols + 1) * sizeof(float));
  tape.backward(linear_form(tape, y));
  EXPECT_LT(memory_use().peak - before, nodes * nodes * sizeof(float) / 10);
}

TEST(TokenAttention, MatchesDoublePrecisionOnEveryInstructionSet) {
  on_every_isa([] {
    for (auto [groups, tokens, heads, width] : {std::array<size_t, 4>{1, 1, 1, 1},
                                                {0, 4, 1, 8},
                                                {3, 4, 2, 8},
                                                {5, 11, 3, 17},
                                                {9, 3, 1, 5}}) {
      size_t cols = heads * width, rows = groups * tokens;
      auto program = [&](const Doubles& in) {
        std::vector<double> out(rows * cols, 0.0);
        for (size_t i = 0; i < rows; ++i)
          for (size_t h = 0; h < heads; ++h)
            attend(out, in[0], in.size() > 1 ? in[1] : in[0], in.back(), i, i / tokens * tokens,
                   tokens, {cols, h * width, width, 1 / std::sqrt(static_cast<double>(width))});
        return out;
      };
      expect_matches(
          matrices(random_matrix(rows, cols, 1), random_matrix(rows, cols, 2),
                   random_matrix(rows, cols, 3)),
          [&](Tape& tape, std::vector<Var>& in) {
            return token_attention(tape, in[0], in[1], in[2], tokens, heads);
          },
          program);
      expect_matches(
          matrices(random_matrix(rows, cols, 1)),
          [&](Tape& tape, std::vector<Var>& in) {
            return token_attention(tape, in[0], in[0], in[0], tokens, heads);
          },
          program);
    }
  });
}

TEST(HopReadout, MatchesDoublePrecisionOnEveryInstructionSet) {
  on_every_isa([] {
    for (auto [nodes, tokens, cols] :
         {std::array<size_t, 3>{1, 1, 1}, {0, 3, 2}, {4, 2, 17}, {5, 8, 32}, {300, 4, 56}}) {
      expect_matches(
          matrices(random_matrix(nodes * tokens, cols, 1), random_matrix(1, cols, 2, 0.5)),
          [&](Tape& tape, std::vector<Var>& in) { return hop_readout(tape, in[0], in[1], tokens); },
          [&](const Doubles& in) {
            std::vector<double> out(nodes * cols, 0.0);
            for (size_t i = 0; i < nodes; ++i) {
              const double* t = in[0].data() + i * tokens * cols;
              std::vector<double> scores(tokens - 1, 0.0);
              for (size_t k = 1; k < tokens; ++k)
                for (size_t c = 0; c < cols; ++c) scores[k - 1] += in[1][c] * t[k * cols + c];
              std::vector<double> p = softmax(scores);
              for (size_t c = 0; c < cols; ++c) {
                out[i * cols + c] = t[c];
                for (size_t k = 1; k < tokens; ++k) out[i * cols + c] += p[k - 1] * t[k * cols + c];
              }
            }
            return out;
          });
    }
  });
}

TEST(Tokens, SameBytesForAnyThreadCount) {
  expect_same_bytes_for_any_thread_count(
      matrices(random_matrix(9000, 12, 1), random_matrix(9000, 12, 2), random_matrix(9000, 12, 3),
               random_matrix(1, 12, 4)),
      [](Tape& tape, std::vector<Var>& in) {
        return hop_readout(tape, token_attention(tape, in[0], in[1], in[2], 5, 3), in[3], 5);
      });
}

TEST(DenseAttention, RejectsShapesThatDoNotMatch) {
  Tape tape;
  auto var = [&](size_t rows, size_t cols) { return tape.variable(random_matrix(rows, cols, 1)); };
  std::vector<float> bias(3);
  EXPECT_THROW(all_pairs_attention(tape, var(4, 6), var(5, 6), var(5, 6), 4, {}), Error);
  EXPECT_THROW(all_pairs_attention(tape, var(4, 6), var(5, 6), var(4, 6), 2, {}), Error);
  EXPECT_THROW(all_pairs_attention(tape, var(4, 6), var(5, 4), var(5, 4), 2, {}), Error);
  EXPECT_THROW(all_pairs_attention(tape, var(4, 6), var(5, 6), var(5, 6), 2, {1.0F, bias}), Error);
  EXPECT_THROW(token_attention(tape, var(7, 6), var(7, 6), var(7, 6), 3, 2), Error);
  EXPECT_THROW(token_attention(tape, var(6, 6), var(6, 6), var(6, 5), 3, 2), Error);
  EXPECT_THROW(token_attention(tape, var(6, 6), var(6, 6), var(6, 6), 3, 4), Error);
  EXPECT_THROW(hop_readout(tape, var(7, 6), var(1, 6), 3), Error);
  EXPECT_THROW(hop_readout(tape, var(6, 6), var(1, 12), 3), Error);
}

}  // namespace
}  // namespace spex
