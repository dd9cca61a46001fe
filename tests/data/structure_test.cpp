#include <gtest/gtest.h>
#include <spex/core/random.h>
#include <spex/core/threads.h>
#include <spex/data/structure.h>
#include <spex/graph/builder.h>

#include <Eigen/Eigenvalues>
#include <cmath>

namespace spex {
namespace {

CsrGraph random_graph(size_t nodes, size_t edges, bool undirected = true) {
  Random random(7, Purpose::test);
  std::vector<NodeId> sources, targets;
  for (size_t e = 0; e < edges; ++e) {
    sources.push_back(static_cast<NodeId>(random.below(nodes, 2 * e)));
    targets.push_back(static_cast<NodeId>(random.below(nodes, 2 * e + 1)));
  }
  BuildOptions options;
  options.undirected = undirected;
  return build_csr(nodes, sources, targets, options).graph;
}

Eigen::MatrixXd adjacency(const CsrGraph& graph) {
  auto n = static_cast<Eigen::Index>(graph.nodes());
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(n, n);
  for (size_t i = 0; i < graph.nodes(); ++i)
    for (NodeId j : graph.row(i)) a(static_cast<Eigen::Index>(i), j) = 1.0;
  return a;
}

TEST(Structure, DegreesCountNeighboursOnBothSides) {
  std::vector<NodeId> sources = {0, 0}, targets = {1, 2};
  BuildOptions directed;
  directed.undirected = false;
  Matrix values = degree_features(build_csr(4, sources, targets, directed).graph);
  EXPECT_FLOAT_EQ(values(0, 0), std::log(3.0F));
  EXPECT_FLOAT_EQ(values(2, 0), std::log(2.0F));
  EXPECT_EQ(values(3, 0), 0.0F);
}

TEST(Structure, ReturnProbabilitiesAreThoseOfTheTransitionMatrix) {
  CsrGraph graph = random_graph(70, 100);  // some nodes are alone
  Eigen::MatrixXd a = adjacency(graph), power;
  Eigen::MatrixXd transition = a;
  for (Eigen::Index i = 0; i < a.rows(); ++i) transition.row(i) /= std::max(1.0, a.row(i).sum());
  WalkFeatures walks = walk_features(graph);
  EXPECT_TRUE(walks.exact);
  ASSERT_EQ(walks.values.cols(), 16U);
  power = transition;
  for (size_t step = 0; step < 16; ++step, power *= transition)
    for (size_t i = 0; i < 70; ++i)
      EXPECT_NEAR(walks.values(i, step),
                  power(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(i)), 1e-6)
          << i << " after " << step + 1;
}

TEST(Structure, DrawnWalksAgreeWithTheExactOnesOnAverage) {
  CsrGraph graph = random_graph(400, 1500);
  WalkOptions drawn;
  drawn.exact_up_to = 0;
  drawn.walks = 200;
  Matrix exact = walk_features(graph).values;
  WalkFeatures estimate = walk_features(graph, drawn);
  EXPECT_FALSE(estimate.exact);
  for (size_t step = 0; step < 16; ++step) {
    double bias = 0, error = 0;
    for (size_t i = 0; i < 400; ++i) {
      double difference = estimate.values(i, step) - exact(i, step);
      bias += difference / 400;
      error += difference * difference / 400;
    }
    EXPECT_NEAR(bias, 0.0, 0.003) << step;
    EXPECT_LT(std::sqrt(error), 0.03) << step;
  }
}

// Residual and orthogonality say that vectors are eigenvectors; the eigenvalues say which.
void expect_smallest_eigenvectors(const CsrGraph& graph, const Matrix& values, double tolerance) {
  auto n = static_cast<Eigen::Index>(graph.nodes());
  Eigen::MatrixXd a = adjacency(graph), s = a;
  Eigen::VectorXd root = a.rowwise().sum().cwiseMax(1e-300).cwiseSqrt().cwiseInverse();
  for (Eigen::Index i = 0; i < n; ++i)
    if (a.row(i).sum() == 0) root[i] = 0;
  s = root.asDiagonal() * a * root.asDiagonal();
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(s);
  for (size_t c = 0; c < values.cols(); ++c) {
    Eigen::VectorXd x(n);
    for (Eigen::Index i = 0; i < n; ++i) x[i] = values(static_cast<size_t>(i), c);
    double most = *std::find_if(x.begin(), x.end(), [&](double v) {
      return std::abs(v) >= 0.999 * x.cwiseAbs().maxCoeff();
    });
    EXPECT_NEAR(x.squaredNorm() / static_cast<double>(n), 1.0, 1e-4);
    EXPECT_GT(most, 0.0);
    x.normalize();
    double wanted = solver.eigenvalues()[n - 2 - static_cast<Eigen::Index>(c)];
    EXPECT_LT((s * x - wanted * x).norm(), tolerance) << c;
  }
}

TEST(Structure, LaplacianVectorsBelongToTheSmallestEigenvalues) {
  CsrGraph small = random_graph(60, 150);
  expect_smallest_eigenvectors(small, laplacian_features(small).values, 1e-5);
  CsrGraph larger = random_graph(540, 2000);
  LaplacianFeatures found = laplacian_features(larger);
  EXPECT_LE(found.residual, 1e-4);
  expect_smallest_eigenvectors(larger, found.values, 1e-3);
}

TEST(Structure, LaplacianVectorsOfSeveralComponentsAreFoundAsWell) {
  std::vector<NodeId> sources, targets;
  for (NodeId ring = 0; ring < 4; ++ring)
    for (NodeId i = 0; i < 150; ++i) {
      sources.push_back(ring * 150 + i);
      targets.push_back(ring * 150 + (i + 1) % 150);
      sources.push_back(ring * 150 + i);
      targets.push_back(ring * 150 + (i * 7 + 3) % 150);
    }
  CsrGraph graph = build_csr(600, sources, targets).graph;
  expect_smallest_eigenvectors(graph, laplacian_features(graph).values, 1e-3);
}

TEST(Structure, IsTheSameForAnyNumberOfThreads) {
  CsrGraph graph = random_graph(900, 4000);
  WalkOptions drawn;
  drawn.exact_up_to = 0;
  std::vector<std::vector<float>> results;
  for (int count : {1, 3}) {
    set_threads(count);
    auto& all = results.emplace_back();
    auto append = [&](const Matrix& m) { all.insert(all.end(), m.span().begin(), m.span().end()); };
    append(walk_features(graph).values);
    append(walk_features(graph, drawn).values);
    append(laplacian_features(graph).values);
  }
  set_threads(0);
  EXPECT_EQ(results[0], results[1]);
}

TEST(Structure, GraphsWithoutEdgesHaveNothingToSay) {
  CsrGraph graph = build_csr(3, {}, {}).graph;
  EXPECT_EQ(walk_features(graph).values(1, 3), 0.0F);
  EXPECT_EQ(laplacian_features(graph).values(1, 3), 0.0F);
}

}  // namespace
}  // namespace spex
