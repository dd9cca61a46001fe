#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/core/log.h>
#include <spex/core/threads.h>
#include <spex/graph/expander.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace spex {
namespace {

bool connected(const CsrGraph& graph) {
  std::vector<bool> seen(graph.nodes());
  std::vector<NodeId> stack = {0};
  seen[0] = true;
  size_t reached = 0;
  while (!stack.empty()) {
    NodeId node = stack.back();
    stack.pop_back();
    ++reached;
    for (NodeId next : graph.row(node))
      if (!seen[next]) {
        seen[next] = true;
        stack.push_back(next);
      }
  }
  return reached == graph.nodes();
}

// Every edge stands as often in one direction as in the other, and none is a self-loop.
void expect_symmetric_without_loops(const CsrGraph& graph) {
  std::map<std::pair<NodeId, NodeId>, int> balance;
  for (NodeId i = 0; i < graph.nodes(); ++i)
    for (NodeId j : graph.row(i)) {
      ASSERT_NE(i, j);
      balance[std::minmax(i, j)] += i < j ? 1 : -1;
    }
  for (auto& [edge, count] : balance) ASSERT_EQ(count, 0);
}

TEST(Expander, IsRegularConnectedSymmetricAndLoopFree) {
  for (size_t nodes : {6UL, 33UL, 1000UL}) {
    for (size_t degree : {2UL, 4UL, 30UL}) {
      SCOPED_TRACE(testing::Message() << nodes << " nodes, degree " << degree);
      CsrGraph graph = make_expander(nodes, {.degree = degree}).graph;
      for (size_t i = 0; i < nodes; ++i) {
        ASSERT_EQ(graph.degree(i), std::min(degree, nodes - 1));
        ASSERT_TRUE(std::ranges::is_sorted(graph.row(i)));
      }
      EXPECT_TRUE(graph.symmetric);
      EXPECT_TRUE(connected(graph));
      expect_symmetric_without_loops(graph);
    }
  }
}

TEST(Expander, DependsOnTheSeedAndNotOnTheThreads) {
  auto neighbours = [](uint64_t seed, int thread_count) {
    set_threads(thread_count);
    auto graph = make_expander(500, {.degree = 6, .seed = seed}).graph;
    set_threads(0);
    return std::vector<NodeId>(graph.neighbours.begin(), graph.neighbours.end());
  };
  EXPECT_EQ(neighbours(1, 1), neighbours(1, 2));
  EXPECT_NE(neighbours(1, 1), neighbours(2, 1));
}

TEST(Expander, ReachesTheRequiredGap) {
  Expander expander = make_expander(2000, {.degree = 30});
  EXPECT_TRUE(expander.checked);
  EXPECT_NEAR(expander.required_gap, 30 - 2 * std::sqrt(29.0) - 0.1, 1e-12);
  EXPECT_GE(expander.spectral_gap, expander.required_gap);
  EXPECT_LT(expander.spectral_gap, 30 - 2 * std::sqrt(29.0) + 1);
}

TEST(Expander, SmallGraphsAndExtremeDegreesMakeSense) {
  EXPECT_EQ(make_expander(0, {}).graph.nodes(), 0);
  EXPECT_EQ(make_expander(1, {}).graph.edges(), 0);
  EXPECT_EQ(make_expander(2, {}).graph.edges(), 2);
  EXPECT_EQ(make_expander(100, {.degree = 0}).graph.edges(), 0);
  CsrGraph full = make_expander(100, {.degree = 99}).graph;
  EXPECT_EQ(full.edges(), 9900);
  expect_symmetric_without_loops(full);
}

TEST(Expander, RejectsOddDegreesAndAbsurdSizes) {
  EXPECT_THROW(make_expander(100, {.degree = 7}), Error);
  EXPECT_THROW(make_expander(3'000'000, {.degree = 2'999'999}), Error);
}

TEST(Expander, SaysWhenTheGapWasNotChecked) {
  std::string line;
  set_log_sink([&](std::string_view text) { line = text; });
  Expander expander = make_expander(100, {.degree = 4, .check_up_to_nodes = 50});
  set_log_sink({});
  EXPECT_FALSE(expander.checked);
  EXPECT_EQ(line, "expander: 100 nodes of degree 4, spectral gap not checked above 50 nodes");
}

}  // namespace
}  // namespace spex
