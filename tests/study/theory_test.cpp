// Spectral norms, reach and gaps against dense algebra and graphs with known answers.
#include <gtest/gtest.h>
#include <spex/core/random.h>
#include <spex/core/threads.h>
#include <spex/graph/builder.h>

#include <Eigen/Dense>
#include <cmath>
#include <numbers>
#include <set>

#include "study/lanczos.h"
#include "study/reach.h"
#include "study/sampled_matrix.h"

namespace spex {
namespace {

AttentionGraph graph_of(size_t nodes, const std::vector<std::pair<NodeId, NodeId>>& edges) {
  std::vector<NodeId> sources, targets;
  for (auto [a, b] : edges) sources.push_back(a), targets.push_back(b);
  return augment(build_csr(nodes, sources, targets).graph, {});
}

AttentionGraph cycle(size_t nodes, bool closed = true) {
  std::vector<std::pair<NodeId, NodeId>> edges;
  for (size_t i = 0; i + (closed ? 0 : 1) < nodes; ++i)
    edges.emplace_back(static_cast<NodeId>(i), static_cast<NodeId>((i + 1) % nodes));
  return graph_of(nodes, edges);
}

AttentionGraph random_graph(size_t nodes, size_t edges) {
  Random random(3, Purpose::test);
  std::vector<std::pair<NodeId, NodeId>> list;
  for (size_t e = 0; e < edges; ++e)
    list.emplace_back(static_cast<NodeId>(random.below(nodes, 2 * e)),
                      static_cast<NodeId>(random.below(nodes, 2 * e + 1)));
  return graph_of(nodes, list);
}

// Random scores, each row adding up to one.
std::vector<Half> random_scores(const AttentionGraph& graph) {
  Random random(4, Purpose::test);
  std::vector<float> scores(graph.edges());
  for (size_t i = 0; i < graph.nodes(); ++i) {
    float sum = 0;
    for (EdgeOffset e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
      sum += scores[e] = static_cast<float>(std::exp(4 * random.uniform(e)));
    for (EdgeOffset e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e) scores[e] /= sum;
  }
  std::vector<Half> halves(scores.size());
  to_half(halves, scores);
  return halves;
}

Eigen::MatrixXd dense(const AttentionGraph& graph, const std::vector<Half>& scores) {
  std::vector<float> values(scores.size());
  to_float(values, scores);
  auto n = static_cast<Eigen::Index>(graph.nodes());
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(n, n);
  for (size_t i = 0; i < graph.nodes(); ++i)
    for (EdgeOffset e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
      a(static_cast<Eigen::Index>(i), graph.neighbours[e]) += values[e];
  return a;
}

Eigen::MatrixXd dense(const SampledMatrix& sampled) {
  auto n = static_cast<Eigen::Index>(sampled.rows);
  Eigen::MatrixXd b = Eigen::MatrixXd::Zero(n, n);
  for (size_t s = 0; s < sampled.values.size(); ++s)
    b(static_cast<Eigen::Index>(s / sampled.k), sampled.columns[s]) += sampled.values[s];
  return b;
}

void by_score(std::span<float> out, std::span<const float> scores, size_t) {
  std::copy(scores.begin(), scores.end(), out.begin());
}
void alike(std::span<float> out, std::span<const float>, size_t) {
  std::fill(out.begin(), out.end(), 1.0F);
}

TEST(Lanczos, FindsTheLargestEigenvalue) {
  Eigen::MatrixXd random = Eigen::MatrixXd::Random(60, 60);
  Eigen::MatrixXd symmetric = random + random.transpose();
  double found = largest_eigenvalue(60, [&](std::span<double> out, std::span<const double> in) {
    Eigen::Map<Eigen::VectorXd>(out.data(), 60) =
        symmetric * Eigen::Map<const Eigen::VectorXd>(in.data(), 60);
  });
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(symmetric);
  EXPECT_NEAR(found, solver.eigenvalues()[59], 1e-4);
}

TEST(SpectralNorm, MatchesDenseSingularValues) {
  AttentionGraph graph = random_graph(80, 400);
  std::vector<Half> scores = random_scores(graph);
  Eigen::MatrixXd a = dense(graph, scores);
  auto norm = [](const Eigen::MatrixXd& m) {
    return Eigen::JacobiSVD<Eigen::MatrixXd>(m).singularValues()[0];
  };
  EXPECT_NEAR(spectral_norm(graph, scores, nullptr, 1e-6), norm(a), 1e-4);
  for (RowChances chances : {RowChances(by_score), RowChances(alike)}) {
    SampledMatrix sampled = sample_matrix(graph, scores, 3, chances, 1);
    EXPECT_NEAR(spectral_norm(graph, scores, &sampled, 1e-6), norm(a - dense(sampled)), 1e-4);
  }
}

TEST(SpectralNorm, DoesNotDependOnThreads) {
  AttentionGraph graph = random_graph(5000, 20000);
  std::vector<Half> scores = random_scores(graph);
  int before = threads();
  std::vector<double> norms;
  for (int count : {1, 3}) {
    set_threads(count);
    SampledMatrix sampled = sample_matrix(graph, scores, 2, by_score, 1);
    norms.push_back(spectral_norm(graph, scores, &sampled, 1e-3));
  }
  set_threads(before);
  EXPECT_EQ(norms[0], norms[1]);
}

TEST(SampledMatrix, IsTheMatrixOnAverage) {
  AttentionGraph graph = random_graph(12, 40);
  std::vector<Half> scores = random_scores(graph);
  for (RowChances chances : {RowChances(by_score), RowChances(alike)}) {
    Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(12, 12);
    constexpr int kDraws = 4000;
    for (int draw = 0; draw < kDraws; ++draw)
      sum += dense(sample_matrix(graph, scores, 2, chances, static_cast<uint64_t>(draw)));
    EXPECT_LT((sum / kDraws - dense(graph, scores)).cwiseAbs().maxCoeff(), 0.06);
  }
}

// A node with a hundred equal neighbours: of fifty draws hardly a third falls on one seen before.
TEST(SampledMatrix, DrawsOfARowAreIndependent) {
  std::vector<std::pair<NodeId, NodeId>> star;
  for (NodeId i = 1; i <= 100; ++i) star.emplace_back(0, i);
  AttentionGraph graph = graph_of(101, star);
  std::vector<Half> scores(graph.edges());
  std::vector<float> alike_scores(graph.edges(), 0.01F);
  to_half(scores, alike_scores);
  SampledMatrix sampled = sample_matrix(graph, scores, 50, alike, 1);
  std::set<NodeId> seen(sampled.columns.begin(), sampled.columns.begin() + 50);
  EXPECT_GT(seen.size(), 25U);
}

TEST(SampledMatrix, RowsDrawnByScoresAddUpToOne) {
  AttentionGraph graph = random_graph(50, 200);
  Eigen::MatrixXd b = dense(sample_matrix(graph, random_scores(graph), 5, by_score, 1));
  for (Eigen::Index i = 0; i < b.rows(); ++i) EXPECT_NEAR(b.row(i).sum(), 1.0, 2e-3);
}

TEST(Reach, IsCompleteAfterTheDiameter) {
  Reach path = measure_reach(cycle(10, false), 0);
  EXPECT_TRUE(path.complete);
  EXPECT_EQ(path.seen.size(), 10u);  // 0 .. 9 layers
  EXPECT_DOUBLE_EQ(path.seen[0], 0.1);
  EXPECT_DOUBLE_EQ(path.seen[1], 28.0 / 100);
  EXPECT_EQ(measure_reach(cycle(1501), 0).seen.size(), 751u);  // more than one block of sources
}

// Sources of the first block have seen all they can long before those of the second.
TEST(Reach, PartsThatAreDoneStayAsTheyAre) {
  constexpr NodeId kStar = 1100, kPath = 50;
  std::vector<std::pair<NodeId, NodeId>> edges;
  for (NodeId i = 1; i < kStar; ++i) edges.emplace_back(0, i);
  for (NodeId i = kStar; i + 1 < kStar + kPath; ++i) edges.emplace_back(i, i + 1);
  Reach reach = measure_reach(graph_of(kStar + kPath, edges), 0);
  EXPECT_EQ(reach.seen.size(), 50u);
  double all = double{kStar + kPath} * (kStar + kPath);
  EXPECT_NEAR(reach.seen.back(), (double{kStar} * kStar + double{kPath} * kPath) / all, 1e-12);
  for (size_t l = 1; l < reach.seen.size(); ++l) EXPECT_GE(reach.seen[l], reach.seen[l - 1]);
}

TEST(Reach, OfTwoPartsIsNeverComplete) {
  Reach reach = measure_reach(graph_of(4, {{0, 1}, {2, 3}}), 0);
  EXPECT_FALSE(reach.complete);
  EXPECT_DOUBLE_EQ(reach.seen.back(), 0.5);
}

TEST(WalkGap, OfKnownGraphs) {
  // With self-loops the walk on a cycle has eigenvalues (1 + 2 cos(2 pi j / n)) / 3.
  EXPECT_NEAR(walk_gap(cycle(30)), 2.0 / 3 * (1 - std::cos(2 * std::numbers::pi / 30)), 1e-6);
  EXPECT_NEAR(walk_gap(graph_of(3, {{0, 1}, {1, 2}, {0, 2}})), 1.0, 1e-9);
  EXPECT_NEAR(walk_gap(graph_of(4, {{0, 1}, {2, 3}})), 0.0, 1e-9);
}

}  // namespace
}  // namespace spex
