#include <Spectra/SymEigsSolver.h>
#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/core/random.h>
#include <spex/core/threads.h>
#include <spex/graph/builder.h>
#include <spex/graph/expander.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace spex {
namespace {

CsrGraph cycle(size_t nodes) {
  std::vector<NodeId> sources, targets;
  for (size_t i = 0; i < nodes; ++i) {
    sources.push_back(static_cast<NodeId>(i));
    targets.push_back(static_cast<NodeId>((i + 1) % nodes));
  }
  return build_csr(nodes, sources, targets).graph;
}

CsrGraph random_graph(size_t nodes, size_t edges) {
  Random random(nodes, Purpose::test);
  std::vector<NodeId> sources, targets;
  for (size_t e = 0; e < edges; ++e) {
    sources.push_back(static_cast<NodeId>(random.below(nodes, 2 * e)));
    targets.push_back(static_cast<NodeId>(random.below(nodes, 2 * e + 1)));
  }
  return build_csr(nodes, sources, targets).graph;
}

// L + n/n 1 1^T shifts the constant vector away from 0; negated, the gap is the largest eigenvalue.
struct NegatedLaplacian {
  using Scalar = double;
  const CsrGraph& graph;
  double shift;
  Eigen::Index rows() const { return static_cast<Eigen::Index>(graph.nodes()); }
  Eigen::Index cols() const { return rows(); }
  void perform_op(const double* x, double* y) const {
    double mean = Eigen::Map<const Eigen::VectorXd>(x, rows()).mean();
    for (size_t i = 0; i < graph.nodes(); ++i) {
      y[i] = -static_cast<double>(graph.degree(i)) * x[i] - shift * mean;
      for (NodeId j : graph.row(i)) y[i] += x[j];
    }
  }
};

double gap_by_spectra(const CsrGraph& graph) {
  NegatedLaplacian op{graph, 1000.0};
  Spectra::SymEigsSolver<NegatedLaplacian> solver(op, 1, 40);
  solver.init();
  EXPECT_EQ(solver.compute(Spectra::SortRule::LargestAlge, 2000, 1e-10), 1);
  return -solver.eigenvalues()[0];
}

TEST(SpectralGap, OfKnownGraphs) {
  for (size_t n : {3UL, 4UL, 10UL, 50UL, 150UL})
    EXPECT_NEAR(spectral_gap(cycle(n)),
                2 - 2 * std::cos(2 * std::numbers::pi / static_cast<double>(n)), 1e-6);
  for (size_t n : {2UL, 3UL, 40UL, 400UL})
    EXPECT_NEAR(spectral_gap(make_expander(n, {.degree = n - 1}).graph), n, 1e-6);
  std::vector<NodeId> centre = {0, 0, 0, 0, 0}, leaves = {1, 2, 3, 4, 5};
  EXPECT_NEAR(spectral_gap(build_csr(6, centre, leaves).graph), 1, 1e-6);  // a star
}

TEST(SpectralGap, AgreesWithSpectra) {
  CsrGraph dense = random_graph(300, 6000), sparse = random_graph(2000, 12000);
  EXPECT_NEAR(spectral_gap(dense), gap_by_spectra(dense), 1e-5);
  EXPECT_NEAR(spectral_gap(sparse), gap_by_spectra(sparse), 1e-5);
  CsrGraph expander = make_expander(3000, {.degree = 10}).graph;
  EXPECT_NEAR(spectral_gap(expander), gap_by_spectra(expander), 1e-5);
}

TEST(SpectralGap, OfALargeExpanderIsWithinATenthOfTheSlack) {
  CsrGraph expander = make_expander(30'000, {.degree = 10, .check_up_to_nodes = 0}).graph;
  EXPECT_NEAR(spectral_gap(expander), gap_by_spectra(expander), 0.01);
}

TEST(SpectralGap, IsZeroForTwoComponents) {
  for (NodeId n : {3U, 300U}) {
    CsrGraph half = make_expander(n, {.degree = 6}).graph;
    std::vector<NodeId> sources, targets;
    for (NodeId i = 0; i < n; ++i)
      for (NodeId j : half.row(i))
        for (NodeId shift : {0U, n}) {
          sources.push_back(i + shift);
          targets.push_back(j + shift);
        }
    EXPECT_NEAR(spectral_gap(build_csr(2 * n, sources, targets).graph), 0, 1e-6);
  }
}

TEST(SpectralGap, DoesNotDependOnTheThreads) {
  CsrGraph graph = random_graph(10000, 50000);
  set_threads(1);
  double one = spectral_gap(graph);
  set_threads(2);
  EXPECT_EQ(one, spectral_gap(graph));
  set_threads(0);
}

TEST(SpectralGap, RejectsDirectedGraphs) {
  std::vector<NodeId> sources = {0}, targets = {1};
  EXPECT_THROW(spectral_gap(build_csr(2, sources, targets, {.undirected = false}).graph), Error);
}

}  // namespace
}  // namespace spex
