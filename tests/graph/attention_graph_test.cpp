#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/core/random.h>
#include <spex/core/threads.h>
#include <spex/graph/attention_graph.h>
#include <spex/graph/builder.h>
#include <spex/graph/expander.h>

#include <algorithm>
#include <vector>

namespace spex {
namespace {

using Rows = std::vector<std::vector<NodeId>>;

CsrGraph random_graph(size_t nodes, size_t edges, bool undirected) {
  Random random(edges, Purpose::test);
  std::vector<NodeId> sources, targets;
  for (size_t e = 0; e < edges; ++e) {
    sources.push_back(static_cast<NodeId>(random.below(nodes, 2 * e)));
    targets.push_back(static_cast<NodeId>(random.below(nodes / 2 + 1, 2 * e + 1)));
  }
  return build_csr(nodes, sources, targets, {.undirected = undirected}).graph;
}

std::vector<NodeId> segment(const AttentionGraph& graph, EdgeType edge_type, size_t node) {
  auto type = static_cast<size_t>(edge_type);
  return {graph.neighbours.begin() + graph.segment_begin(type, node),
          graph.neighbours.begin() + graph.segment_end(type, node)};
}

std::vector<NodeId> list(std::span<const NodeId> row) {
  return {row.begin(), row.end()};
}

// Transposing by its definition: an edge i -> j of a type becomes j -> i of that type.
void expect_transposed(const AttentionGraph& transposed, const AttentionGraph& graph) {
  ASSERT_EQ(transposed.types, graph.types);
  ASSERT_EQ(transposed.edges(), graph.edges());
  for (size_t t = 0; t < graph.types; ++t) {
    Rows rows(graph.nodes());
    for (size_t i = 0; i < graph.nodes(); ++i)
      for (EdgeOffset e = graph.segment_begin(t, i); e < graph.segment_end(t, i); ++e)
        rows[graph.neighbours[e]].push_back(static_cast<NodeId>(i));
    for (size_t j = 0; j < graph.nodes(); ++j)
      ASSERT_EQ(segment(transposed, static_cast<EdgeType>(t), j), rows[j]) << t << ' ' << j;
  }
}

TEST(Augment, GroupsEachRowByType) {
  CsrGraph graph = random_graph(200, 900, false);
  CsrGraph expander = make_expander(200, {.degree = 4}).graph;
  AttentionGraph joined = augment(graph, expander);
  ASSERT_EQ(joined.nodes(), 200);
  EXPECT_EQ(joined.types, 3);
  EXPECT_EQ(joined.edges(), graph.edges() + expander.edges() + 200);
  EXPECT_FALSE(joined.symmetric);
  for (NodeId i = 0; i < 200; ++i) {
    EXPECT_EQ(segment(joined, EdgeType::graph, i), list(graph.row(i)));
    EXPECT_EQ(segment(joined, EdgeType::expander, i), list(expander.row(i)));
    EXPECT_EQ(segment(joined, EdgeType::self_loop, i), std::vector<NodeId>{i});
  }
}

TEST(Augment, VirtualNodesAreJoinedToAllNodesBothWays) {
  CsrGraph graph = random_graph(50, 100, true);
  AttentionGraph joined = augment(graph, {}, {.virtual_nodes = 2});
  ASSERT_EQ(joined.nodes(), 52);
  EXPECT_EQ(joined.types, 4);
  EXPECT_TRUE(joined.symmetric);
  for (NodeId i = 0; i < 50; ++i) {
    EXPECT_EQ(segment(joined, EdgeType::graph, i), list(graph.row(i)));
    EXPECT_TRUE(segment(joined, EdgeType::expander, i).empty());
    EXPECT_EQ(segment(joined, EdgeType::virtual_node, i), (std::vector<NodeId>{50, 51}));
  }
  for (size_t v : {50UL, 51UL}) {
    auto row = segment(joined, EdgeType::virtual_node, v);
    ASSERT_EQ(row.size(), 50);
    for (NodeId i = 0; i < 50; ++i) EXPECT_EQ(row[i], i);
    EXPECT_EQ(joined.offsets[v + 1] - joined.offsets[v], 50);
  }
}

TEST(Augment, WithoutSelfLoopsAndExpanderIsTheGraph) {
  CsrGraph graph = random_graph(100, 300, true);
  AttentionGraph joined = augment(graph, {}, {.self_loops = false});
  EXPECT_TRUE(std::ranges::equal(joined.neighbours.span(), graph.neighbours.span()));
  EXPECT_TRUE(std::ranges::equal(joined.offsets.span(), graph.offsets.span()));
}

TEST(Augment, RejectsAnExpanderOfAnotherSize) {
  EXPECT_THROW(augment(random_graph(10, 20, true), make_expander(11, {.degree = 2}).graph), Error);
}

TEST(Transpose, MatchesItsDefinitionForAnyThreadCount) {
  AttentionGraph graph = augment(random_graph(300, 2000, false),
                                 make_expander(300, {.degree = 6}).graph, {.virtual_nodes = 1});
  for (int count : {1, 2, 5}) {
    set_threads(count);
    expect_transposed(transpose(graph), graph);
  }
  set_threads(0);
}

TEST(Transpose, OfASymmetricGraphIsItself) {
  AttentionGraph graph = augment(random_graph(300, 2000, true),
                                 make_expander(300, {.degree = 6}).graph, {.virtual_nodes = 2});
  ASSERT_TRUE(graph.symmetric);
  EXPECT_EQ(transpose(graph).neighbours.data(), graph.neighbours.data());
  AttentionGraph forced = graph;
  forced.symmetric = false;
  expect_transposed(graph, graph);
  EXPECT_TRUE(std::ranges::equal(transpose(forced).neighbours.span(), graph.neighbours.span()));
}

TEST(Transpose, ValuesFollowTheirEdges) {
  for (bool undirected : {false, true}) {
    AttentionGraph graph =
        augment(random_graph(300, 2000, undirected), make_expander(300, {.degree = 6}).graph);
    AttentionGraph transposed = transpose(graph);
    auto name = [](size_t from, size_t to) { return static_cast<float>(300 * from + to); };
    std::vector<float> values;
    for (size_t i = 0; i < 300; ++i)
      for (EdgeOffset e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
        values.push_back(name(i, graph.neighbours[e]));
    Buffer<float> back = transpose_values(graph, transposed, values);
    for (size_t j = 0; j < 300; ++j)
      for (EdgeOffset e = transposed.offsets[j]; e < transposed.offsets[j + 1]; ++e)
        ASSERT_EQ(back[e], name(transposed.neighbours[e], j));
  }
}

// Features that name their edge, or, with `both_ways`, the two nodes.
TEST(Transpose, EdgeFeaturesFollowTheirEdges) {
  auto name = [](size_t from, size_t to, bool both_ways) {
    return static_cast<float>(both_ways ? from * to : 300 * from + to);
  };
  for (bool undirected : {false, true})
    for (bool both_ways : {false, true}) {
      CsrGraph own = random_graph(300, 2000, undirected);
      AttentionGraph graph =
          augment(own, make_expander(300, {.degree = 6}).graph, {.virtual_nodes = 2});
      Buffer<float> values(2 * own.edges(), MemoryTag::graph);
      for (size_t i = 0; i < 300; ++i)
        for (EdgeOffset e = own.offsets[i]; e < own.offsets[i + 1]; ++e) {
          values[2 * e] = name(i, own.neighbours[e], both_ways);
          values[2 * e + 1] = -values[2 * e];
        }
      add_edge_features(graph, own, std::move(values), 2);
      AttentionGraph transposed = transpose(graph);
      bool shared = transposed.features.values.data() == graph.features.values.data();
      EXPECT_EQ(shared, undirected && both_ways);
      ChosenRows chosen = choose_rows(transposed, {7, 200, 3});
      auto expect_named = [&](const AttentionGraph& turned, const std::vector<NodeId>& sources) {
        for (size_t j = 0; j < turned.nodes(); ++j)
          for (EdgeOffset e = turned.offsets[j]; e < turned.segment_end(0, j); ++e) {
            size_t place = turned.features.rows[j] + (e - turned.offsets[j]);
            size_t from = sources.empty() ? turned.neighbours[e] : sources[turned.neighbours[e]];
            ASSERT_EQ(turned.features.values[2 * place], name(from, j, both_ways));
            ASSERT_EQ(turned.features.values[2 * place + 1], -name(from, j, both_ways));
          }
      };
      expect_named(transposed, {});
      expect_named(chosen.transposed, chosen.nodes);
    }
}

TEST(Fingerprint, ChangesWithAnyArrayAndNotWithThreads) {
  CsrGraph graph = random_graph(20000, 200'000, true);
  AttentionGraph plain = augment(graph, {});
  uint64_t expected = fingerprint(plain);
  set_threads(1);
  EXPECT_EQ(fingerprint(plain), expected);
  set_threads(0);
  EXPECT_NE(fingerprint(augment(graph, {}, {.self_loops = false})), expected);
  EXPECT_NE(fingerprint(augment(graph, {}, {.virtual_nodes = 1})), expected);
  EXPECT_NE(fingerprint(augment(random_graph(20000, 200'001, true), {})), expected);

  Buffer<NodeId> changed(plain.edges(), MemoryTag::graph);
  std::ranges::copy(plain.neighbours, changed.begin());
  changed[plain.edges() - 1] ^= 1;
  AttentionGraph other = plain;
  other.neighbours = std::move(changed);
  EXPECT_NE(fingerprint(other), expected);

  Buffer<EdgeOffset> moved(plain.segment_ends.size(), MemoryTag::graph);
  std::ranges::copy(plain.segment_ends, moved.begin());
  moved[0] += 1;
  other = plain;
  other.segment_ends = std::move(moved);
  EXPECT_NE(fingerprint(other), expected) << "an edge that became another type";
  other = plain;
  other.virtual_nodes = 1;
  EXPECT_NE(fingerprint(other), expected);
}

TEST(ChooseRows, ListsTheChosenNodesThatAttendToEach) {
  AttentionGraph graph =
      augment(random_graph(200, 900, false), make_expander(200, {.degree = 4}).graph);
  std::vector<NodeId> nodes;
  for (NodeId i = 3; i < 200; i += 1 + i % 5) nodes.push_back(i);
  ChosenRows chosen = choose_rows(transpose(graph), nodes);
  EXPECT_EQ(chosen.nodes, nodes);
  for (size_t t = 0; t < graph.types; ++t) {
    Rows rows(graph.nodes());
    for (size_t i = 0; i < nodes.size(); ++i)
      for (NodeId j : segment(graph, static_cast<EdgeType>(t), nodes[i]))
        rows[j].push_back(static_cast<NodeId>(i));
    for (size_t j = 0; j < graph.nodes(); ++j)
      ASSERT_EQ(segment(chosen.transposed, static_cast<EdgeType>(t), j), rows[j]) << t << ' ' << j;
  }
}

}  // namespace
}  // namespace spex
