// The attention graph as a file: what scores belong to, mapped back as it was written.
#pragma once

#include <spex/graph/attention_graph.h>

#include <filesystem>

namespace spex {

void save_attention_graph(const std::filesystem::path& path, const AttentionGraph& graph,
                          uint64_t fingerprint);
struct SavedGraph {
  AttentionGraph graph;
  uint64_t fingerprint = 0;
};
// Throws where the file does not hold a graph whose rows fit together.
SavedGraph load_attention_graph(const std::filesystem::path& path);

}  // namespace spex
