// Patterns of all three kinds over one small random graph, and their edges in the plainest form.
#pragma once

#include <spex/core/random.h>
#include <spex/graph/builder.h>
#include <spex/graph/pattern.h>

#include <string>
#include <utility>
#include <vector>

namespace spex::testing_support {

struct SeenEdge {
  size_t query, source;
  size_t entry;  // place in the graph's or the sample's array
};

inline std::vector<SeenEdge> seen_edges(const Pattern& pattern) {
  std::vector<SeenEdge> edges;
  for (size_t i = 0; i < pattern.queries(); ++i) {
    if (pattern.sample) {
      for (size_t slot = 0; slot < pattern.sample->count(i); ++slot) {
        size_t entry = i * pattern.sample->k + slot;
        edges.push_back({i, pattern.sample->indices[entry], entry});
      }
    } else {
      size_t node = pattern.chosen ? pattern.chosen->nodes[i] : i;
      const AttentionGraph& graph = *pattern.graph;
      for (size_t e = graph.offsets[node]; e < graph.offsets[node + 1]; ++e)
        edges.push_back({i, graph.neighbours[e], e});
    }
  }
  return edges;
}

// Directed. Node 0 sees all but node 1; node 1 sees nothing and nothing sees it; node 2 sees node 0
// alone; the others see node 4 and a few at random.
class Neighbourhoods {
 public:
  explicit Neighbourhoods(size_t nodes) {
    Random random(9, Purpose::test);
    std::vector<NodeId> from, to;
    auto join = [&](size_t i, size_t j) {
      from.push_back(static_cast<NodeId>(i));
      to.push_back(static_cast<NodeId>(j));
    };
    for (size_t j = 2; j < nodes; ++j) join(0, j);
    join(2, 0);
    for (size_t i = 3; i < nodes; ++i) {
      join(i, 4);
      for (size_t e = 0; e < i % 11; ++e)
        if (size_t j = random.below(nodes, i * 16 + e); j != 1) join(i, j);
    }
    CsrGraph graph = build_csr(nodes, from, to, {.undirected = false}).graph;
    graph_ = augment(graph, {}, {.self_loops = false});
    transposed_ = transpose(graph_);
    chosen_ = choose_rows(transposed_, {5, 1, 0, 3, 2, 8});
    fill_sample(nodes, random);
  }

  Pattern all() const { return Pattern::all_rows(graph_, transposed_); }
  Pattern chosen() const { return Pattern::chosen_rows(graph_, chosen_); }
  Pattern sampled() const { return Pattern::sampled(sample_); }
  std::vector<std::pair<std::string, Pattern>> patterns() const {
    return {{"all rows", all()}, {"chosen rows", chosen()}, {"a sample", sampled()}};
  }

 private:
  // Query i sees i % (k + 1) sources; what lies behind them must not be read.
  void fill_sample(size_t nodes, const Random& random) {
    sample_.queries = nodes / 2;
    sample_.sources = nodes;
    sample_.k = 7;
    sample_.types = 2;
    sample_.indices = Buffer<NodeId>(sample_.queries * sample_.k, MemoryTag::graph);
    sample_.ends = Buffer<uint16_t>(sample_.types * sample_.queries, MemoryTag::graph);
    for (size_t e = 0; e < sample_.indices.size(); ++e)
      sample_.indices[e] = e % sample_.k < e / sample_.k % (sample_.k + 1)
                               ? static_cast<NodeId>(random.below(nodes, 1'000'000 + e))
                               : 4'000'000'000U;
    for (size_t i = 0; i < sample_.queries; ++i) {
      auto count = static_cast<uint16_t>(i % (sample_.k + 1));
      sample_.ends[i] = count / 2;
      sample_.ends[sample_.queries + i] = count;
    }
  }

  AttentionGraph graph_, transposed_;
  ChosenRows chosen_;
  NeighbourMatrix sample_;
};

}  // namespace spex::testing_support
