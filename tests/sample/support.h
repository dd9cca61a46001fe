// Small attention graphs and scores for the tests of this room.
#pragma once

#include <spex/core/half.h>
#include <spex/core/random.h>
#include <spex/sample/sampler.h>

#include <algorithm>
#include <vector>

namespace spex::testing_support {

template <class T>
SharedArray<T> shared(const std::vector<T>& values) {
  Buffer<T> buffer(values.size(), MemoryTag::graph);
  std::copy(values.begin(), values.end(), buffer.begin());
  return buffer;
}

// Row i has degrees[i] random neighbours, about half of them of each of two types, and a self-loop.
inline AttentionGraph random_graph(const std::vector<size_t>& degrees, uint64_t seed = 1) {
  Random random(seed, Purpose::test, 5);
  size_t nodes = degrees.size();
  std::vector<EdgeOffset> offsets = {0}, ends(2 * nodes);
  std::vector<NodeId> neighbours;
  for (size_t i = 0; i < nodes; ++i) {
    for (size_t e = 0; e < degrees[i]; ++e)
      neighbours.push_back(static_cast<NodeId>(random.below(nodes, neighbours.size())));
    ends[i] = offsets[i] + degrees[i] / 2;
    ends[nodes + i] = offsets[i] + degrees[i];
    neighbours.push_back(static_cast<NodeId>(i));
    offsets.push_back(neighbours.size());
  }
  return {shared(offsets), shared(neighbours), shared(ends), 3, false, 0};
}

inline std::vector<size_t> random_degrees(size_t nodes, size_t most, uint64_t seed = 1) {
  std::vector<size_t> degrees(nodes);
  for (size_t i = 0; i < nodes; ++i) degrees[i] = Random(seed, Purpose::test, 6).below(most + 1, i);
  return degrees;
}

inline SharedArray<Half> halves(const std::vector<float>& values) {
  Buffer<Half> half(values.size(), MemoryTag::scores);
  to_half(half.span(), values);
  return half;
}

inline std::vector<float> floats(const SharedArray<Half>& half) {
  std::vector<float> values(half.size());
  to_float(values, half.span());
  return values;
}

inline Scores random_scores(const AttentionGraph& graph, size_t layers, uint64_t seed = 1) {
  Scores scores;
  for (size_t l = 0; l < layers; ++l) {
    Random random(seed, Purpose::test, 7, static_cast<uint32_t>(l));
    std::vector<float> values(graph.edges());
    for (size_t e = 0; e < values.size(); ++e) values[e] = static_cast<float>(random.uniform(e));
    scores.layers.push_back(halves(values));
  }
  return scores;
}

inline std::vector<EdgeOffset> draw(const Sampler& sampler, NodeId node, size_t layer, size_t k,
                                    uint32_t epoch) {
  std::vector<EdgeOffset> edges(sampler.most(k));
  edges.resize(sampler.draw(node, layer, k, epoch, edges.data()));
  return edges;
}

}  // namespace spex::testing_support
