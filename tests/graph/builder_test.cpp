#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/core/random.h>
#include <spex/core/threads.h>
#include <spex/graph/builder.h>

#include <algorithm>
#include <set>
#include <vector>

namespace spex {
namespace {

struct Edges {
  std::vector<NodeId> sources, targets;
};

// Squaring skews the ids, so that duplicates, self-loops and large rows all occur.
Edges random_edges(size_t nodes, size_t count, uint64_t seed) {
  Random random(seed, Purpose::test);
  Edges edges;
  for (size_t e = 0; e < count; ++e) {
    double u = random.uniform(2 * e), v = random.uniform(2 * e + 1);
    edges.sources.push_back(static_cast<NodeId>(u * u * static_cast<double>(nodes)));
    edges.targets.push_back(static_cast<NodeId>(v * v * static_cast<double>(nodes)));
  }
  return edges;
}

struct Naive {
  std::vector<std::multiset<NodeId>> rows;
  BuildReport report;
};

// The specification, in sets.
Naive build_naively(size_t nodes, const Edges& edges, const BuildOptions& options) {
  Naive naive{std::vector<std::multiset<NodeId>>(nodes), {}};
  auto insert = [&](NodeId u, NodeId v) {
    if (options.drop_duplicates && naive.rows[u].contains(v)) return false;
    naive.rows[u].insert(v);
    return true;
  };
  for (size_t e = 0; e < edges.sources.size(); ++e) {
    NodeId u = edges.sources[e], v = edges.targets[e];
    if (u == v && options.drop_self_loops)
      ++naive.report.self_loops_removed;
    else if (!insert(u, v))
      ++naive.report.duplicates_removed;
  }
  for (size_t e = 0; options.undirected && e < edges.sources.size(); ++e) {
    NodeId u = edges.sources[e], v = edges.targets[e];
    if (u != v) naive.report.edges_reversed += insert(v, u);
  }
  return naive;
}

void expect_equal(const BuiltGraph& built, const Naive& naive) {
  ASSERT_EQ(built.graph.nodes(), naive.rows.size());
  for (size_t i = 0; i < naive.rows.size(); ++i) {
    auto row = built.graph.row(i);
    ASSERT_TRUE(std::ranges::equal(row, naive.rows[i])) << "row " << i;
  }
  EXPECT_EQ(built.report.duplicates_removed, naive.report.duplicates_removed);
  EXPECT_EQ(built.report.self_loops_removed, naive.report.self_loops_removed);
  EXPECT_EQ(built.report.edges_reversed, naive.report.edges_reversed);
}

TEST(Builder, MatchesSetsForAllOptions) {
  for (size_t nodes : {1UL, 7UL, 100UL, 3000UL}) {
    Edges edges = random_edges(nodes, 4 * nodes, nodes);
    for (int mask = 0; mask < 8; ++mask) {
      SCOPED_TRACE(testing::Message() << nodes << " nodes, options " << mask);
      BuildOptions options{(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0};
      expect_equal(build_csr(nodes, edges.sources, edges.targets, options),
                   build_naively(nodes, edges, options));
    }
  }
}

// Enough edges for many ranges.
TEST(Builder, LargeGraphMatchesSetsAndDoesNotDependOnThreads) {
  Edges edges = random_edges(50000, 1'200'000, 1);
  set_threads(1);
  BuiltGraph one = build_csr(50000, edges.sources, edges.targets);
  set_threads(2);
  BuiltGraph two = build_csr(50000, edges.sources, edges.targets);
  set_threads(0);
  EXPECT_TRUE(std::ranges::equal(one.graph.neighbours.span(), two.graph.neighbours.span()));
  expect_equal(two, build_naively(50000, edges, {}));
  EXPECT_TRUE(two.graph.symmetric);
}

TEST(Builder, HoldsLessThanTwiceTheResultHoweverManyDuplicates) {
  Edges edges = random_edges(20000, 1'500'000, 2);
  for (int copies = 0; copies < 2; ++copies) {
    auto sources = edges.sources, targets = edges.targets;
    edges.sources.insert(edges.sources.end(), targets.begin(), targets.end());
    edges.targets.insert(edges.targets.end(), sources.begin(), sources.end());
    size_t before = memory_use(MemoryTag::graph).current;
    reset_memory_peaks();
    BuiltGraph built = build_csr(20000, edges.sources, edges.targets);
    size_t result = memory_use(MemoryTag::graph).current - before;
    EXPECT_LT(memory_use(MemoryTag::graph).peak - before, 2 * result);
  }
}

TEST(Builder, EmptyListGivesEmptyRows) {
  BuiltGraph built = build_csr(3, {}, {});
  EXPECT_EQ(built.graph.nodes(), 3);
  EXPECT_EQ(built.graph.edges(), 0);
  EXPECT_EQ(build_csr(0, {}, {}).graph.nodes(), 0);
}

TEST(Builder, RejectsAnIdThatIsNoNode) {
  std::vector<NodeId> sources = {0, 1}, targets = {1, 5};
  try {
    build_csr(5, sources, targets);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "cannot build a graph: edge 1 joins nodes 1 and 5, but node ids must be below 5");
  }
  targets.pop_back();
  EXPECT_THROW(build_csr(5, sources, targets), Error);
}

}  // namespace
}  // namespace spex
