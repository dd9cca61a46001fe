#include <gtest/gtest.h>
#include <spex/core/random.h>
#include <spex/core/threads.h>
#include <spex/graph/edge_values.h>

#include <map>
#include <vector>

namespace spex {
namespace {

struct List {
  std::vector<NodeId> sources, targets;
  std::vector<float> values;  // two per edge
};

List random_list(size_t nodes, size_t edges) {
  Random random(5, Purpose::test);
  List list;
  for (size_t e = 0; e < edges; ++e) {
    list.sources.push_back(static_cast<NodeId>(random.below(nodes, 4 * e)));
    list.targets.push_back(static_cast<NodeId>(random.below(nodes, 4 * e + 1)));
    list.values.push_back(static_cast<float>(random.below(1000, 4 * e + 2)));
    list.values.push_back(static_cast<float>(random.below(1000, 4 * e + 3)));
  }
  return list;
}

// All values that belong to each directed edge of the graph, the plain way.
std::map<std::pair<NodeId, NodeId>, std::vector<float>> expected(const List& list,
                                                                 const BuildOptions& options) {
  std::map<std::pair<NodeId, NodeId>, std::vector<float>> all;
  for (size_t e = 0; e < list.sources.size(); ++e) {
    NodeId from = list.sources[e], to = list.targets[e];
    if (from == to && options.drop_self_loops) continue;
    all[{from, to}].push_back(list.values[2 * e]);
    if (options.undirected && from != to) all[{to, from}].push_back(list.values[2 * e]);
  }
  return all;
}

float combined(const std::vector<float>& values, EdgeCombine combine) {
  double sum = 0, most = values[0];
  for (float v : values) sum += v, most = std::max<double>(most, v);
  if (combine == EdgeCombine::max) return static_cast<float>(most);
  return static_cast<float>(combine == EdgeCombine::sum ? sum : sum / values.size());
}

TEST(EdgeValues, FollowTheirEdgesThroughCleaning) {
  List list = random_list(40, 900);  // many parallel edges and some loops
  for (bool undirected : {true, false})
    for (bool loops : {true, false})
      for (EdgeCombine combine : {EdgeCombine::mean, EdgeCombine::sum, EdgeCombine::max}) {
        BuildOptions options{undirected, true, !loops};
        CsrGraph graph = build_csr(40, list.sources, list.targets, options).graph;
        Buffer<float> placed =
            place_edge_values(graph, list.sources, list.targets, list.values, 2, combine, options);
        auto all = expected(list, options);
        for (NodeId i = 0; i < 40; ++i)
          for (size_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
            EXPECT_FLOAT_EQ(placed[2 * e], combined(all.at({i, graph.neighbours[e]}), combine));
      }
}

TEST(EdgeValues, ParallelEdgesThatAreKeptKeepTheirOwn) {
  List list = random_list(10, 200);
  BuildOptions options{false, false, false};
  CsrGraph graph = build_csr(10, list.sources, list.targets, options).graph;
  Buffer<float> placed = place_edge_values(graph, list.sources, list.targets, list.values, 2,
                                           EdgeCombine::mean, options);
  auto all = expected(list, options);
  for (NodeId i = 0; i < 10; ++i)
    for (size_t e = graph.offsets[i], run = 0; e < graph.offsets[i + 1]; ++e) {
      run = e > graph.offsets[i] && graph.neighbours[e] == graph.neighbours[e - 1] ? run + 1 : 0;
      EXPECT_EQ(placed[2 * e], all.at({i, graph.neighbours[e]})[run]);
    }
}

TEST(EdgeValues, AreTheSameBytesForAnyNumberOfThreads) {
  List list = random_list(20'000, 60'000);
  CsrGraph graph = build_csr(20'000, list.sources, list.targets).graph;
  std::vector<std::vector<float>> results;
  for (int count : {1, 3}) {
    set_threads(count);
    Buffer<float> placed =
        place_edge_values(graph, list.sources, list.targets, list.values, 2, EdgeCombine::mean, {});
    results.emplace_back(placed.begin(), placed.end());
  }
  set_threads(0);
  EXPECT_EQ(results[0], results[1]);
}

}  // namespace
}  // namespace spex
