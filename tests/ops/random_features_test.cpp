#include <spex/core/error.h>
#include <spex/graph/builder.h>
#include <spex/ops/linear_attention.h>
#include <spex/ops/random_features.h>

#include "double_reference.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

const Random kRandom(3, Purpose::test, 1);

double row_dot(const Matrix& p, size_t a, size_t b) {
  double sum = 0;
  for (size_t d = 0; d < p.cols(); ++d) sum += double{p(a, d)} * p(b, d);
  return sum;
}

TEST(OrthogonalProjection, RowsOfABlockAreOrthogonalAndAsLongAsGaussianRows) {
  size_t width = 16, features = 2000;
  Matrix p = orthogonal_projection(features, width, kRandom);
  double squares = 0;
  for (size_t f = 0; f < features; ++f) {
    for (size_t other = f / width * width; other < f; ++other)
      EXPECT_NEAR(row_dot(p, f, other), 0.0, 1e-4);
    squares += row_dot(p, f, f);
  }
  // The square of a length has mean 16 and variance 32.
  EXPECT_NEAR(squares / 2000, 16.0, 5 * std::sqrt(32.0 / 2000));
  EXPECT_GT(std::abs(row_dot(p, 0, 17)), 1e-3);  // other blocks are independent
}

TEST(OrthogonalProjection, IsAFunctionOfItsRandomNumbers) {
  Matrix a = orthogonal_projection(7, 3, kRandom), b = orthogonal_projection(7, 3, kRandom);
  EXPECT_TRUE(std::equal(a.span().begin(), a.span().end(), b.span().begin()));
  Matrix other = orthogonal_projection(7, 3, Random(3, Purpose::test, 2));
  EXPECT_NE(a(0, 0), other(0, 0));
}

// Gumbel's law has a variance of pi^2 / 6; what the weights were lowered by cancels in it.
TEST(GumbelWeights, FollowTheirLawAndEndAtOne) {
  size_t keys = 20000;
  Matrix w = gumbel_weights(keys, 2, 0.5F, kRandom);
  for (size_t h = 0; h < 2; ++h) {
    double sum = 0, squares = 0, largest = 0;
    for (size_t j = 0; j < keys; ++j) {
      double g = 0.5 * std::log(double{w(j, h)});
      sum += g;
      squares += g * g;
      largest = std::max(largest, double{w(j, h)});
    }
    double mean = sum / 20000, variance = squares / 20000 - mean * mean;
    EXPECT_NEAR(variance, M_PI * M_PI / 6, 0.1);
    EXPECT_EQ(largest, 1.0);
  }
  EXPECT_NE(w(0, 0), w(0, 1));
}

struct Shape {
  size_t nodes, heads, width, features;
};

// u' P^T of node i, head h, feature f.
double exponent(const std::vector<double>& u, const Matrix& p, const Shape& s, double scale,
                size_t i, size_t h, size_t f) {
  double sum = 0;
  for (size_t d = 0; d < s.width; ++d)
    sum += scale * u[i * s.heads * s.width + h * s.width + d] * p(f, d);
  return sum;
}

// The maximum that belongs to a row, of the numbers as given: it is a constant.
std::vector<double> maxima(const Matrix& u, const Matrix& p, const Shape& s, double scale,
                           bool keys) {
  std::vector<double> values(u.span().begin(), u.span().end()), all(s.nodes * s.heads, -1e30);
  std::vector<double> of_head(s.heads, -1e30);
  for (size_t i = 0; i < s.nodes; ++i)
    for (size_t h = 0; h < s.heads; ++h)
      for (size_t f = 0; f < s.features; ++f) {
        double e = exponent(values, p, s, scale, i, h, f);
        all[i * s.heads + h] = std::max(all[i * s.heads + h], e);
        of_head[h] = std::max(of_head[h], e);
      }
  for (size_t n = 0; keys && n < all.size(); ++n) all[n] = of_head[n % s.heads];
  return all;
}

void expect_formula(const Shape& s, bool keys) {
  double scale = std::pow(static_cast<double>(s.width), -0.25) / std::sqrt(0.5);
  Matrix u = random_matrix(s.nodes, s.heads * s.width, 1);
  Matrix p = orthogonal_projection(s.features, s.width, kRandom);
  std::vector<double> m = maxima(u, p, s, scale, keys);
  expect_matches(
      matrices(clone(u)),
      [&](Tape& tape, std::vector<Var>& in) {
        return random_features(tape, in[0], tape.constant(p.view()), s.heads, {0.5F, keys});
      },
      [&](const Doubles& in) {
        std::vector<double> y;
        for (size_t i = 0; i < s.nodes; ++i)
          for (size_t h = 0; h < s.heads; ++h)
            for (size_t f = 0; f < s.features; ++f) {
              double square = 0;
              for (size_t d = 0; d < s.width; ++d)
                square += std::pow(scale * in[0][(i * s.heads + h) * s.width + d], 2);
              double e = exponent(in[0], p, s, scale, i, h, f) - square / 2 - m[i * s.heads + h];
              y.push_back((std::exp(e) + 1e-6) / std::sqrt(static_cast<double>(s.features)));
            }
        return y;
      });
}

TEST(RandomFeatures, MatchDoublePrecisionOnEveryInstructionSet) {
  on_every_isa([] {
    for (const Shape& shape : {Shape{1, 1, 1, 1}, {0, 2, 3, 4}, {5, 2, 3, 7}, {23, 3, 8, 30}})
      for (bool keys : {false, true}) expect_formula(shape, keys);
  });
  expect_formula({300, 1, 2, 3}, true);
}

// What they are for: the mean over projections of phi(q) . phi(k) is in proportion to exp(q . k).
TEST(RandomFeatures, ApproximateTheSoftmaxKernel) {
  Matrix q = random_matrix(3, 4, 1, 0.4), k = random_matrix(5, 4, 2, 0.4);
  Matrix p = orthogonal_projection(40000, 4, kRandom);
  Tape tape(false);
  Var projection = tape.constant(p.view());
  Var fq = random_features(tape, tape.constant(q.view()), projection, 1, {1.0F, false});
  Var fk = random_features(tape, tape.constant(k.view()), projection, 1, {1.0F, true});
  for (size_t i = 0; i < 3; ++i) {
    double kernel_sum = 0, feature_sum = 0;
    std::vector<double> kernel(5), product(5);
    for (size_t j = 0; j < 5; ++j) {
      double score = 0;
      for (size_t d = 0; d < 4; ++d) score += double{q(i, d)} * k(j, d) / 2;  // sqrt(width)
      kernel_sum += kernel[j] = std::exp(score);
      for (size_t f = 0; f < p.rows(); ++f)
        product[j] += double{fq.value()(i, f)} * fk.value()(j, f);
      feature_sum += product[j];
    }
    for (size_t j = 0; j < 5; ++j)
      EXPECT_NEAR(product[j] / feature_sum, kernel[j] / kernel_sum, 0.01);
  }
}

TEST(RandomFeatures, SameBytesForAnyThreadCountAlsoThroughAttention) {
  Matrix p = orthogonal_projection(10, 6, kRandom);
  expect_same_bytes_for_any_thread_count(
      matrices(random_matrix(3000, 12, 1), random_matrix(3000, 12, 2), random_matrix(3000, 8, 3)),
      [&](Tape& tape, std::vector<Var>& in) {
        Var projection = tape.constant(p.view());
        return linear_attention(tape, random_features(tape, in[0], projection, 2, {0.5F, false}),
                                random_features(tape, in[1], projection, 2, {0.5F, true}), in[2], 2,
                                {});
      });
}

// Node i has i % 4 neighbours; node 0 and its like none.
struct Graphs {
  AttentionGraph graph, transposed;
  Pattern pattern() const { return Pattern::all_rows(graph, transposed); }
};

Graphs some_graph(size_t nodes) {
  std::vector<NodeId> from, to;
  for (size_t i = 0; i < nodes; ++i)
    for (size_t n = 0; n < i % 4; ++n) {
      from.push_back(static_cast<NodeId>(i));
      to.push_back(static_cast<NodeId>((7 * i + 5 * n + 1) % nodes));
    }
  CsrGraph graph = build_csr(nodes, from, to, {.undirected = false}).graph;
  Graphs graphs{augment(graph, build_csr(nodes, {}, {}).graph, {.self_loops = false}), {}};
  graphs.transposed = transpose(graphs.graph);
  return graphs;
}

Matrix positive(size_t rows, size_t cols, uint64_t seed) {
  Matrix matrix = random_matrix(rows, cols, seed, 0.3);
  for (float& value : matrix.span()) value = std::abs(value) + 0.05F;
  return matrix;
}

double plain_edge_log(const Doubles& in, const AttentionGraph& graph, size_t heads, size_t width) {
  const std::vector<double>&q = in[0], &k = in.back();
  double sum = 0;
  auto product = [&](size_t i, size_t j, size_t h) {
    double dot = 0;
    for (size_t f = h * width; f < (h + 1) * width; ++f)
      dot += q[i * heads * width + f] * k[j * heads * width + f];
    return dot;
  };
  for (size_t i = 0; i < graph.nodes(); ++i)
    for (EdgeOffset e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
      for (size_t h = 0; h < heads; ++h) {
        double all = 0;
        for (size_t l = 0; l < graph.nodes(); ++l) all += product(i, l, h);
        sum += std::log(product(i, graph.neighbours[e], h) / all) /
               static_cast<double>(graph.offsets[i + 1] - graph.offsets[i]);
      }
  return sum / static_cast<double>(graph.edges() * heads);
}

TEST(EdgeLogAttention, MatchesDoublePrecisionAlsoWhenQueriesAreKeys) {
  for (auto [nodes, heads, width] : {std::array<size_t, 3>{2, 1, 1}, {20, 2, 5}, {33, 3, 17}}) {
    Graphs graphs = some_graph(nodes);
    auto run = [&](Tape& tape, std::vector<Var>& in) {
      return edge_log_attention(tape, in[0], in.back(), graphs.pattern(), heads);
    };
    auto program = [&](const Doubles& in) {
      return std::vector<double>{plain_edge_log(in, graphs.graph, heads, width)};
    };
    expect_matches(matrices(positive(nodes, heads * width, 1), positive(nodes, heads * width, 2)),
                   run, program, 1e-6);
    expect_matches(matrices(positive(nodes, heads * width, 1)), run, program, 1e-6);
  }
}

TEST(EdgeLogAttention, SameBytesForAnyThreadCount) {
  Graphs graphs = some_graph(3000);
  expect_same_bytes_for_any_thread_count(matrices(positive(3000, 12, 1), positive(3000, 12, 2)),
                                         [&](Tape& tape, std::vector<Var>& in) {
                                           return edge_log_attention(tape, in[0], in[1],
                                                                     graphs.pattern(), 2);
                                         });
}

TEST(RandomFeatures, RejectShapesThatDoNotMatch) {
  Tape tape;
  auto var = [&](size_t rows, size_t cols) { return tape.variable(positive(rows, cols, 1)); };
  Matrix p = orthogonal_projection(5, 3, kRandom);
  EXPECT_THROW(random_features(tape, var(4, 7), tape.constant(p.view()), 2, {}), Error);
  EXPECT_THROW(random_features(tape, var(4, 6), var(5, 3), 2, {}), Error);
  EXPECT_THROW(random_features(tape, var(4, 6), tape.constant(p.view()), 2, {0.0F, false}), Error);
  Graphs graphs = some_graph(6);
  ChosenRows chosen = choose_rows(graphs.transposed, {1, 2});
  EXPECT_THROW(
      edge_log_attention(tape, var(6, 4), var(6, 4), Pattern::chosen_rows(graphs.graph, chosen), 2),
      Error);
  EXPECT_THROW(edge_log_attention(tape, var(5, 4), var(5, 4), graphs.pattern(), 2), Error);
  EXPECT_THROW(edge_log_attention(tape, var(6, 4), var(6, 4), graphs.pattern(), 3), Error);
}

}  // namespace
}  // namespace spex
