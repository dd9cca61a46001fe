#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/graph/builder.h>
#include <spex/sample/balls.h>

#include <set>

#include "sample/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

constexpr NodeId kNodes = 3000;  // more than one block

// A ring with a few long chords; the last node is alone.
AttentionGraph ring_with_chords() {
  std::vector<NodeId> sources, targets;
  for (NodeId i = 0; i + 1 < kNodes; ++i) {
    sources.push_back(i);
    targets.push_back((i + 1) % (kNodes - 1));
    if (i % 7 > 0) continue;
    sources.push_back(i);
    targets.push_back(i * 5 % (kNodes - 1));
  }
  return augment(build_csr(kNodes, sources, targets).graph, {});
}

// What is at each distance from a node, by breadth-first search.
std::vector<std::set<NodeId>> rings(const AttentionGraph& graph, NodeId node, size_t steps) {
  std::vector<std::set<NodeId>> rings = {{node}};
  std::set<NodeId> seen = {node};
  for (size_t t = 0; t < steps; ++t) {
    std::set<NodeId> next;
    for (NodeId from : rings.back())
      for (EdgeOffset e = graph.offsets[from]; e < graph.offsets[from + 1]; ++e)
        if (seen.insert(graph.neighbours[e]).second) next.insert(graph.neighbours[e]);
    rings.push_back(next);
  }
  return rings;
}

std::vector<NodeId> ring_of(const AttentionGraph& balls, size_t type, size_t node) {
  return {balls.neighbours.begin() + balls.segment_begin(type, node),
          balls.neighbours.begin() + balls.segment_end(type, node)};
}

TEST(Balls, OfAllNeighboursHoldEveryNodeAtItsDistance) {
  AttentionGraph graph = ring_with_chords();
  std::vector<size_t> all = {100, 100, 100};
  AttentionGraph balls = draw_balls(graph, all, 1);
  ASSERT_EQ(balls.types, 4U);
  ASSERT_EQ(balls.nodes(), kNodes);
  for (NodeId i = 0; i < kNodes; i += 13) {
    auto expected = rings(graph, i, 3);
    for (size_t t = 0; t < 4; ++t)
      EXPECT_EQ(ring_of(balls, t, i), std::vector<NodeId>(expected[t].begin(), expected[t].end()))
          << "node " << i << ", distance " << t;
  }
  EXPECT_EQ(balls.offsets[kNodes] - balls.offsets[kNodes - 1], 1U) << "a lone node sees itself";
}

TEST(Balls, DrawNoMoreThanTheFanOutAndOnlyWhatIsNear) {
  AttentionGraph graph = random_graph(random_degrees(500, 30));
  std::vector<size_t> fan_out = {4, 2};
  AttentionGraph balls = draw_balls(graph, fan_out, 1);
  size_t largest = 0;
  for (NodeId i = 0; i < graph.nodes(); ++i) {
    auto near = rings(graph, i, 2);
    EXPECT_EQ(ring_of(balls, 0, i), std::vector<NodeId>{i});
    std::vector<NodeId> first = ring_of(balls, 1, i), second = ring_of(balls, 2, i);
    EXPECT_LE(first.size(), 4U);
    EXPECT_LE(second.size(), 2 * first.size());
    for (NodeId node : first) EXPECT_TRUE(near[1].contains(node));
    for (NodeId node : second) EXPECT_TRUE(near[1].contains(node) || near[2].contains(node));
    largest = std::max<size_t>(largest, balls.offsets[i + 1] - balls.offsets[i]);
  }
  EXPECT_GT(largest, 8U);
}

TEST(Balls, AreTheSameForAnyNumberOfThreadsAndOthersForAnotherSeed) {
  AttentionGraph graph = random_graph(random_degrees(3000, 12));
  std::vector<size_t> fan_out = {3, 2, 2};
  auto members = [&](int count, uint64_t seed) {
    set_threads(count);
    AttentionGraph balls = draw_balls(graph, fan_out, seed);
    set_threads(0);
    return std::vector<NodeId>(balls.neighbours.begin(), balls.neighbours.end());
  };
  EXPECT_EQ(members(1, 1), members(3, 1));
  EXPECT_NE(members(1, 1), members(1, 2));
}

TEST(Balls, RefuseMoreStepsThanThereAreEdgeTypes) {
  AttentionGraph graph = random_graph({1, 1});
  std::vector<size_t> four = {1, 1, 1, 1};
  EXPECT_THROW(draw_balls(graph, four, 1), Error);
  EXPECT_THROW(draw_balls(graph, {}, 1), Error);
}

}  // namespace
}  // namespace spex
