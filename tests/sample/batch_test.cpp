#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/sample/batch.h>

#include <cmath>
#include <numeric>
#include <set>

#include "sample/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

const std::vector<size_t> kDegrees = {5, 3, 7};

std::vector<NodeId> some_nodes(size_t count, size_t nodes) {
  auto order = random_permutation(nodes, Random(8, Purpose::test));
  return {order.begin(), order.begin() + static_cast<ptrdiff_t>(count)};
}

// One row of a layer must be the sampler's draw: same neighbours in the same order, same types.
void expect_drawn(const Batch& batch, size_t layer, size_t query, const Sampler& sampler,
                  uint32_t epoch) {
  const AttentionGraph& graph = sampler.graph();
  const NeighbourMatrix& pattern = batch.layers[layer];
  NodeId node = batch.nodes[query];
  auto edges = draw(sampler, node, layer, kDegrees[layer], epoch);
  ASSERT_EQ(pattern.count(query), edges.size());
  for (size_t e = 0; e < edges.size(); ++e) {
    NodeId local = pattern.indices[query * pattern.k + e];
    ASSERT_LT(local, pattern.sources);
    ASSERT_EQ(batch.nodes[local], graph.neighbours[edges[e]]);
    for (size_t t = 0; t < graph.types; ++t)
      ASSERT_EQ(e < pattern.ends[t * pattern.queries + query],
                edges[e] < graph.segment_end(t, node));
    if (pattern.log_score.empty()) continue;
    float score = floats(sampler.scores()->layer(layer))[edges[e]];
    ASSERT_NEAR(pattern.log_score[query * pattern.k + e], std::log(score + 1e-8F), 1e-5);
  }
}

void expect_batch(const Batch& batch, std::span<const NodeId> targets, const Sampler& sampler,
                  uint32_t epoch) {
  ASSERT_EQ(batch.targets, targets.size());
  ASSERT_TRUE(std::equal(targets.begin(), targets.end(), batch.nodes.begin()));
  EXPECT_EQ(std::set(batch.nodes.begin(), batch.nodes.end()).size(), batch.nodes.size())
      << "a node twice";
  size_t needed = targets.size();
  for (size_t l = kDegrees.size(); l-- > 0;) {
    const NeighbourMatrix& pattern = batch.layers[l];
    ASSERT_EQ(pattern.queries, needed) << "queries are what the next layer reads";
    ASSERT_GE(pattern.sources, pattern.queries);
    std::set<NodeId> read;
    for (size_t i = 0; i < pattern.queries; ++i) {
      expect_drawn(batch, l, i, sampler, epoch);
      read.insert(pattern.indices.data() + i * pattern.k,
                  pattern.indices.data() + i * pattern.k + pattern.count(i));
    }
    for (size_t s = pattern.queries; s < pattern.sources; ++s)
      ASSERT_TRUE(read.contains(static_cast<NodeId>(s))) << "a source that nobody reads";
    needed = pattern.sources;
  }
  EXPECT_EQ(batch.nodes.size(), needed);
}

TEST(Batch, HoldsExactlyTheSamplersDrawOfEveryNodeItNeeds) {
  AttentionGraph graph = random_graph(random_degrees(300, 30));
  Scores scores = random_scores(graph, 2);
  for (Sampling sampling : {Sampling::weighted, Sampling::uniform, Sampling::top}) {
    Sampler sampler(graph, &scores, sampling, 1);
    BatchBuilder builder(sampler, kDegrees, false);
    for (size_t size : {1, 7, 100, 300, 0})
      for (uint32_t epoch : {0, 4}) {
        SCOPED_TRACE(testing::Message() << name(sampling) << ", " << size << " targets");
        auto targets = some_nodes(size, 300);
        expect_batch(builder.build(targets, epoch), targets, sampler, epoch);
      }
  }
}

TEST(Batch, CarriesTheLogScoresOfItsEdges) {
  AttentionGraph graph = random_graph(random_degrees(40, 30));
  Scores scores = random_scores(graph, 2);
  Sampler sampler(graph, &scores, Sampling::weighted, 1);
  auto targets = some_nodes(5, 40);
  Batch batch = BatchBuilder(sampler, kDegrees, true).build(targets, 1);
  ASSERT_FALSE(batch.layers[0].log_score.empty());
  expect_batch(batch, targets, sampler, 1);
  Sampler unscored(graph, nullptr, Sampling::uniform, 1);
  EXPECT_THROW(BatchBuilder(unscored, kDegrees, true), Error);
}

// Neighbours of a node in a layer by their ids in the graph, whatever the batch calls them.
std::vector<NodeId> neighbours(const Batch& batch, size_t layer, size_t query) {
  const NeighbourMatrix& pattern = batch.layers[layer];
  std::vector<NodeId> ids;
  for (size_t e = 0; e < pattern.count(query); ++e)
    ids.push_back(batch.nodes[pattern.indices[query * pattern.k + e]]);
  return ids;
}

TEST(Batch, GivesANodeTheSameNeighboursInAnyCompanyAndOrder) {
  AttentionGraph graph = random_graph(random_degrees(300, 30));
  Sampler sampler(graph, nullptr, Sampling::uniform, 1);
  BatchBuilder builder(sampler, kDegrees, false);
  auto all = some_nodes(300, 300);
  Batch whole = builder.build(all, 2);
  for (size_t i = 300; i-- > 0;) {
    Batch alone = builder.build({&all[i], 1}, 2);
    EXPECT_EQ(neighbours(alone, 2, 0), neighbours(whole, 2, i));
  }
}

TEST(Batch, IsTheSameForAnyNumberOfThreads) {
  AttentionGraph graph = random_graph(random_degrees(20000, 30));
  Sampler sampler(graph, nullptr, Sampling::uniform, 1);
  auto targets = some_nodes(3000, 20000);
  auto bytes = [&](int count) {
    set_threads(count);
    Batch batch = BatchBuilder(sampler, kDegrees, false).build(targets, 2);
    std::vector<NodeId> all = batch.nodes;
    for (const NeighbourMatrix& pattern : batch.layers)
      for (size_t i = 0; i < pattern.queries; ++i)
        all.insert(all.end(), pattern.indices.data() + i * pattern.k,
                   pattern.indices.data() + i * pattern.k + pattern.count(i));
    set_threads(0);
    return all;
  };
  auto one = bytes(1);
  EXPECT_EQ(bytes(2), one);
  EXPECT_EQ(bytes(5), one);
}

TEST(Batch, TakesAllNeighboursWhenTheDegreeIsLarger) {
  AttentionGraph graph = random_graph(random_degrees(50, 20));
  Sampler sampler(graph, nullptr, Sampling::uniform, 1);
  auto all = some_nodes(50, 50);
  Batch batch = BatchBuilder(sampler, {1'000'000'000'000}, false).build(all, 0);
  EXPECT_EQ(batch.edges(), graph.edges());
  EXPECT_LE(batch.layers[0].k, 21) << "rows no longer than the largest degree";
  for (size_t i = 0; i < 50; ++i) {
    auto row = graph.neighbours.span().subspan(graph.offsets[all[i]],
                                               graph.offsets[all[i] + 1] - graph.offsets[all[i]]);
    EXPECT_EQ(neighbours(batch, 0, i), std::vector<NodeId>(row.begin(), row.end()));
  }
}

TEST(Batch, RefusesUnknownAndRepeatedTargetsAndStaysUsable) {
  AttentionGraph graph = random_graph(random_degrees(50, 20));
  Sampler sampler(graph, nullptr, Sampling::uniform, 1);
  BatchBuilder builder(sampler, kDegrees, false);
  EXPECT_THROW(builder.build(std::vector<NodeId>{1, 50}, 0), Error);
  EXPECT_THROW(builder.build(std::vector<NodeId>{1, 2, 1}, 0), Error);
  std::vector<NodeId> targets = {2, 1};
  expect_batch(builder.build(targets, 0), targets, sampler, 0);
}

TEST(Batch, RefusesNoLayersAndDegreesOutOfRange) {
  AttentionGraph graph = random_graph({70000, 1});
  Sampler sampler(graph, nullptr, Sampling::uniform, 1);
  EXPECT_THROW(BatchBuilder(sampler, {}, false), Error);
  EXPECT_THROW(BatchBuilder(sampler, {65536}, false), Error);
  Batch batch = BatchBuilder(sampler, {65535}, false).build(std::vector<NodeId>{0}, 0);
  EXPECT_EQ(batch.layers[0].count(0), 65535);
}

TEST(KeptShare, CountsWhatASampleKeeps) {
  AttentionGraph graph = random_graph({0, 3, 9});  // with self-loops 1, 4 and 10 edges
  EXPECT_EQ(kept_share(graph, std::vector<size_t>{1, 4, 20}),
            (std::vector<double>{3.0 / 15, 9.0 / 15, 1.0}));
}

}  // namespace
}  // namespace spex
