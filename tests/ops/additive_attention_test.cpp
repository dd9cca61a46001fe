#include <spex/core/error.h>
#include <spex/ops/additive_attention.h>

#include <cmath>

#include "double_reference.h"
#include "ops/neighbourhoods.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

// Inputs in the order values, source scores, query scores.
DoubleProgram additive_program(const Pattern& pattern, size_t heads, size_t width, double slope) {
  return [=, edges = seen_edges(pattern)](const Doubles& in) {
    auto score = [&](const SeenEdge& e, size_t h) {
      double z = in[1][e.source * heads + h] + in[2][e.query * heads + h];
      return z > 0 ? z : slope * z;
    };
    std::vector<double> largest(pattern.queries() * heads, -1e300);
    std::vector<double> sum(largest.size(), 0.0), y(largest.size() * width, 0.0);
    for (const SeenEdge& e : edges)
      for (size_t h = 0; h < heads; ++h)
        largest[e.query * heads + h] = std::max(largest[e.query * heads + h], score(e, h));
    for (const SeenEdge& e : edges)
      for (size_t h = 0; h < heads; ++h) {
        size_t at = e.query * heads + h;
        double w = std::exp(score(e, h) - largest[at]);
        sum[at] += w;
        for (size_t d = 0; d < width; ++d)
          y[at * width + d] += w * in[0][(e.source * heads + h) * width + d];
      }
    for (size_t i = 0; i < y.size(); ++i)
      if (sum[i / width] > 0) y[i] /= sum[i / width];
    return y;
  };
}

std::vector<Matrix> inputs(const Pattern& pattern, size_t heads, size_t width, double spread = 1) {
  return matrices(random_matrix(pattern.sources(), heads * width, 1),
                  random_matrix(pattern.sources(), heads, 2, spread),
                  random_matrix(pattern.queries(), heads, 3, spread));
}

Operation attend(const Pattern& pattern, float slope = 0.2F) {
  return [=](Tape& tape, std::vector<Var>& in) {
    return additive_attention(tape, {in[0], in[1], in[2]}, pattern, slope);
  };
}

struct Shape {
  size_t heads, width;
};

TEST(AdditiveAttention, MatchesDoublePrecisionOnEveryPatternAndShape) {
  Neighbourhoods graph(80);
  for (const auto& [what, pattern] : graph.patterns())
    for (Shape s : {Shape{1, 1},
                    {1, 64},
                    {2, 32},
                    {4, 16},
                    {8, 8},
                    {3, 8},
                    {16, 4},
                    {5, 3},
                    {2, 7},
                    {3, 12},
                    {7, 2},
                    {2, 60},
                    {1, 75},
                    {1, 140},
                    {2, 24},
                    {12, 1}}) {
      SCOPED_TRACE(what + ", " + std::to_string(s.heads) + " x " + std::to_string(s.width));
      on_every_isa([&] {
        expect_matches(inputs(pattern, s.heads, s.width), attend(pattern),
                       additive_program(pattern, s.heads, s.width, 0.2), 2e-5, 8);
      });
    }
}

TEST(AdditiveAttention, MatchesDoublePrecisionAtTheEndsOfTheSlope) {
  Neighbourhoods graph(60);
  for (float slope : {0.0F, 1.0F})
    on_every_isa([&] {
      expect_matches(inputs(graph.all(), 2, 8), attend(graph.all(), slope),
                     additive_program(graph.all(), 2, 8, slope));
    });
}

// Rows of several tiles whose maximum grows late, and scores whose exponentials overflow.
TEST(AdditiveAttention, TakesScoresOfAnyMagnitude) {
  Neighbourhoods graph(300);
  for (double spread : {30.0, 1000.0})
    for (size_t heads : {1, 8})
      on_every_isa([&] {
        std::vector<Matrix> in = inputs(graph.all(), heads, 4, spread);
        for (size_t j = 0; j < 300; ++j)
          for (size_t h = 0; h < heads; ++h) in[1](j, h) += static_cast<float>(j);
        // A score of size s is known to s 2^-24, and so is what it is the exponent of.
        expect_matches(std::move(in), attend(graph.all()),
                       additive_program(graph.all(), heads, 4, 0.2), 2e-5 + spread * 1e-6);
      });
}

TEST(AdditiveAttention, OneNeighbourGivesItsValuesAndNoneGivesZeros) {
  Neighbourhoods graph(30);
  on_every_isa([&] {
    Tape tape;
    std::vector<Matrix> in = inputs(graph.all(), 2, 5);
    Var y = additive_attention(
        tape,
        {tape.variable(clone(in[0])), tape.variable(clone(in[1])), tape.variable(clone(in[2]))},
        graph.all());
    for (size_t c = 0; c < 10; ++c) {
      EXPECT_EQ(y.value()(1, c), 0.0F);
      EXPECT_EQ(y.value()(2, c), in[0](0, c));
    }
  });
}

TEST(AdditiveAttention, SameBytesForAnyThreadCount) {
  Neighbourhoods graph(700);
  for (const auto& [what, pattern] : graph.patterns()) {
    SCOPED_TRACE(what);
    expect_same_bytes_for_any_thread_count(inputs(pattern, 4, 20), attend(pattern));
  }
}

// Values used by two operations: the second gradient is added to the first.
TEST(AdditiveAttention, AddsToTheGradientOfValuesUsedTwice) {
  Neighbourhoods graph(40);
  on_every_isa([&] {
    for (Shape s : {Shape{2, 8}, {1, 11}}) {
      DoubleProgram once = additive_program(graph.all(), s.heads, s.width, 0.2);
      expect_matches(
          inputs(graph.all(), s.heads, s.width),
          [&](Tape& tape, std::vector<Var>& in) {
            Var y = additive_attention(tape, {in[0], in[1], in[2]}, graph.all());
            // The values come back as they are: half the gradient enters before.
            Var same =
                tape.result(clone(in[0].value()), {in[0]},
                            [dx = in[0].gradient()](ConstMatrixView dy) { dx->give(clone(dy)); });
            Matrix sum = clone(y.value());
            add(sum, same.value());
            return tape.result(std::move(sum), {y, same},
                               [da = y.gradient(), db = same.gradient()](ConstMatrixView d) {
                                 da->give(clone(d));
                                 db->give(clone(d));
                               });
          },
          [&](const Doubles& in) {
            std::vector<double> y = once(in);
            for (size_t i = 0; i < y.size(); ++i) y[i] += in[0][i];
            return y;
          });
    }
  });
}

TEST(AdditiveAttention, ExtraMemoryDoesNotGrowWithTheNumberOfEdges) {
  auto peak = [](size_t degree) {
    std::vector<NodeId> from, to;
    for (NodeId i = 0; i < 500; ++i)
      for (NodeId e = 1; e <= degree; ++e) {
        from.push_back(i);
        to.push_back((i + e) % 500);
      }
    AttentionGraph graph = augment(build_csr(500, from, to, {.undirected = false}).graph, {});
    AttentionGraph transposed = transpose(graph);
    size_t before = memory_use().current;
    reset_memory_peaks();
    Pattern pattern = Pattern::all_rows(graph, transposed);
    bytes_of(inputs(pattern, 2, 8), attend(pattern));
    return memory_use().peak - before;
  };
  EXPECT_EQ(peak(4), peak(64));
}

TEST(AdditiveAttention, RejectsWhatDoesNotFitThePattern) {
  Neighbourhoods graph(30);
  Tape tape;
  auto var = [&](size_t rows, size_t cols) { return tape.variable(random_matrix(rows, cols, 1)); };
  EXPECT_THROW(additive_attention(tape, {var(30, 7), var(30, 2), var(30, 2)}, graph.all()), Error);
  EXPECT_THROW(additive_attention(tape, {var(29, 8), var(30, 2), var(30, 2)}, graph.all()), Error);
  EXPECT_THROW(additive_attention(tape, {var(30, 8), var(30, 2), var(30, 4)}, graph.all()), Error);
  EXPECT_THROW(additive_attention(tape, {var(30, 8), var(30, 2), var(30, 2)}, graph.chosen()),
               Error);
  EXPECT_THROW(additive_attention(tape, {var(30, 8), var(30, 2), var(30, 2)}, graph.all(), -0.5F),
               Error);
}

Operation products(size_t heads) {
  return [heads](Tape& tape, std::vector<Var>& in) {
    return head_products(tape, in[0], in[1], heads);
  };
}

TEST(HeadProducts, MatchesDoublePrecisionForwardAndBackward) {
  for (size_t rows : {1, 40})
    for (Shape s : {Shape{1, 1}, {3, 5}, {4, 16}, {2, 19}, {1, 64}})
      on_every_isa([&] {
        size_t cols = s.heads * s.width;
        expect_matches(matrices(random_matrix(rows, cols, 1), random_matrix(1, cols, 2)),
                       products(s.heads), [&](const Doubles& in) {
                         std::vector<double> y(rows * s.heads, 0.0);
                         for (size_t i = 0; i < in[0].size(); ++i)
                           y[i / s.width] += in[0][i] * in[1][i % cols];
                         return y;
                       });
      });
}

TEST(HeadProducts, SameBytesForAnyThreadCount) {
  expect_same_bytes_for_any_thread_count(
      matrices(random_matrix(3000, 12, 1), random_matrix(1, 12, 2)), products(3));
}

TEST(HeadProducts, AddsToTheGradientOfValuesUsedTwice) {
  check_gradients(matrices(random_matrix(9, 6, 1), random_matrix(1, 6, 2)),
                  [](Tape& tape, std::vector<Var>& in) {
                    Var y = head_products(tape, in[0], in[1], 2);
                    Var z = head_products(tape, in[0], in[1], 2);
                    Matrix sum = clone(y.value());
                    add(sum, z.value());
                    return tape.result(std::move(sum), {y, z},
                                       [dy = y.gradient(), dz = z.gradient()](ConstMatrixView d) {
                                         dy->give(clone(d));
                                         dz->give(clone(d));
                                       });
                  });
}

}  // namespace
}  // namespace spex
