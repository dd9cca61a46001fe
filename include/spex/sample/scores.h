// The estimator's attention scores: for each layer one 16-bit float per edge of the attention
// graph, in the graph's own order. A file of scores carries the graph's fingerprint, so it cannot
// be used with another.
#pragma once

#include <spex/core/half.h>
#include <spex/graph/attention_graph.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace spex {

struct Scores {
  std::vector<SharedArray<Half>> layers;  // each graph.edges() long
  std::map<std::string, std::string> metadata;

  // Layer l of a deeper network uses the last layer there is (neighbouring layers are alike).
  const SharedArray<Half>& layer(size_t l) const { return layers[std::min(l, layers.size() - 1)]; }
};

// Throws unless there is at least one layer, and in each a score for every edge of the graph.
void check(const Scores& scores, const AttentionGraph& graph);

void save_scores(const std::filesystem::path& path, const Scores& scores, uint64_t fingerprint);
// Mapped, not read. Throws if the file was made for another graph.
Scores load_scores(const std::filesystem::path& path, const AttentionGraph& graph,
                   uint64_t fingerprint);

// Scores outside each row's `keep` largest become zero, those inside stay above it: drawing up to
// `keep` neighbours never takes an edge that was cut.
Scores truncate(const Scores& scores, const AttentionGraph& graph, size_t keep);

}  // namespace spex
