// The laws of GraphSAINT's samplers, and that its weights undo them.
#include <gtest/gtest.h>
#include <spex/core/threads.h>
#include <spex/graph/builder.h>
#include <spex/graph/subgraph.h>
#include <spex/sample/saint.h>

#include <cmath>
#include <map>

namespace spex {
namespace {

// A star of node 0 with a tail, a triangle and a lonely node: degrees from 0 to 6.
constexpr size_t kNodes = 13;
AttentionGraph small_graph() {
  std::vector<NodeId> sources = {0, 0, 0, 0, 0, 0, 6, 7, 8, 9, 10, 11};
  std::vector<NodeId> targets = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 9};
  return augment(build_csr(kNodes, sources, targets).graph, {});
}

std::vector<NodeId> others(const AttentionGraph& graph, NodeId node) {
  std::vector<NodeId> list(graph.neighbours.begin() + graph.offsets[node],
                           graph.neighbours.begin() + graph.offsets[node + 1]);
  std::erase(list, node);
  return list.empty() ? std::vector<NodeId>{node} : list;
}

using Law = std::map<std::vector<NodeId>, double>;  // by set of nodes

void walk(Law& law, const AttentionGraph& graph, std::vector<NodeId> path, size_t steps,
          double probability) {
  if (steps == 0) {
    std::sort(path.begin(), path.end());
    path.erase(std::unique(path.begin(), path.end()), path.end());
    law[path] += probability;
    return;
  }
  auto next = others(graph, path.back());
  for (NodeId node : next) {
    path.push_back(node);
    walk(law, graph, path, steps - 1, probability / static_cast<double>(next.size()));
    path.pop_back();
  }
}

Law law_of(const AttentionGraph& graph, SubgraphSampling kind) {
  Law law;
  auto size = [&](NodeId i) {
    return static_cast<double>(graph.offsets[i + 1] - graph.offsets[i]);
  };
  for (NodeId i = 0; i < kNodes; ++i) {
    if (kind == SubgraphSampling::walk) walk(law, graph, {i}, 2, 1.0 / kNodes);
    if (kind == SubgraphSampling::node) law[{i}] = size(i) / static_cast<double>(graph.edges());
    if (kind != SubgraphSampling::edge) continue;
    for (NodeId j : others(graph, i))  // the edge's law, as the paper writes it
      if (i < j) law[{i, j}] = (1 / (size(i) - 1) + 1 / (size(j) - 1)) / kNodes;
  }
  if (kind == SubgraphSampling::edge) law[{kNodes - 1}] = 1.0 / kNodes;  // it has no edge
  return law;
}

TEST(Saint, SubgraphsOfOneDrawFollowTheirLaw) {
  AttentionGraph graph = small_graph();
  constexpr uint32_t kTrials = 200'000;
  for (SubgraphSampling kind :
       {SubgraphSampling::walk, SubgraphSampling::edge, SubgraphSampling::node}) {
    SCOPED_TRACE(static_cast<int>(kind));
    SubgraphSampler sampler(graph, {.kind = kind, .draws = 1, .depth = 2}, 5);
    std::map<std::vector<NodeId>, size_t> seen;
    for (uint32_t trial = 0; trial < kTrials; ++trial)
      ++seen[sampler.draw(trial / 1000, trial % 1000)];
    Law law = law_of(graph, kind);
    for (const auto& [nodes, count] : seen)
      EXPECT_TRUE(law.count(nodes)) << "a subgraph that cannot be, " << count << " times";
    for (const auto& [nodes, probability] : law) {
      double expected = probability * kTrials;
      EXPECT_NEAR(static_cast<double>(seen[nodes]), expected, 5 * std::sqrt(expected));
    }
  }
}

TEST(Saint, WeightedSumsAndLossesAreThoseOfTheWholeGraph) {
  AttentionGraph graph = small_graph();
  auto x = [](NodeId i) { return 1.0 + i % 4; };
  for (SubgraphSampling kind :
       {SubgraphSampling::walk, SubgraphSampling::edge, SubgraphSampling::node}) {
    SCOPED_TRACE(static_cast<int>(kind));
    SubgraphSampler sampler(graph, {.kind = kind, .draws = 3, .depth = 2, .rounds = 20'000}, 5);
    SubgraphCounts counts = count_subgraphs(sampler);
    std::vector<double> sums(kNodes, 0.0), times(kNodes, 0.0);
    double losses = 0;
    constexpr uint32_t kDraws = 40'000;
    for (uint32_t draw = 0; draw < kDraws; ++draw) {
      std::vector<NodeId> nodes = sampler.draw(draw, 0);
      AttentionGraph part = induced_subgraph(graph, nodes);
      SubgraphWeights weights = subgraph_weights(graph, counts, nodes, part);
      for (size_t i = 0; i < nodes.size(); ++i) {
        times[nodes[i]] += 1;
        losses += weights.losses[i] * x(nodes[i]) / kDraws;
        for (EdgeOffset e = part.offsets[i]; e < part.offsets[i + 1]; ++e)
          sums[nodes[i]] += weights.edges[e] * x(nodes[part.neighbours[e]]);
      }
    }
    double whole_loss = 0;
    for (NodeId i = 0; i < kNodes; ++i) {
      double whole = 0;
      whole_loss += x(i);
      for (EdgeOffset e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
        whole += x(graph.neighbours[e]);
      EXPECT_NEAR(sums[i] / times[i], whole, 0.06 * whole) << "node " << i;
    }
    EXPECT_NEAR(losses, whole_loss, 0.03 * whole_loss);
  }
}

TEST(Saint, TheWeightsOfTheTransposeAreTheOtherEnds) {
  AttentionGraph graph = small_graph();
  SubgraphSampler sampler(graph, {.draws = 4, .depth = 2}, 5);
  SubgraphCounts counts = count_subgraphs(sampler);
  std::vector<NodeId> nodes = sampler.draw(0, 0);
  AttentionGraph part = induced_subgraph(graph, nodes);
  SubgraphWeights weights = subgraph_weights(graph, counts, nodes, part);
  Buffer<float> back = transpose_values(part, transpose(part), weights.edges.span());
  ASSERT_EQ(back.size(), weights.edges_back.size());
  for (size_t e = 0; e < back.size(); ++e) EXPECT_EQ(back[e], weights.edges_back[e]);
}

TEST(Saint, CountsDoNotDependOnTheNumberOfThreads) {
  AttentionGraph graph = small_graph();
  SubgraphSampler sampler(graph, {.draws = 2, .depth = 2, .rounds = 200}, 5);
  int before = threads();
  set_threads(1);
  SubgraphCounts one = count_subgraphs(sampler);
  for (int count : {2, 3}) {
    set_threads(count);
    SubgraphCounts many = count_subgraphs(sampler);
    EXPECT_TRUE(std::equal(one.nodes.begin(), one.nodes.end(), many.nodes.begin()));
    EXPECT_TRUE(std::equal(one.edges.begin(), one.edges.end(), many.edges.begin()));
  }
  set_threads(before);
}

}  // namespace
}  // namespace spex
