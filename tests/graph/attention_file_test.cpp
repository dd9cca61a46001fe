#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/core/safetensors.h>
#include <spex/graph/attention_file.h>
#include <spex/graph/builder.h>
#include <spex/graph/expander.h>

#include <algorithm>

#include "folder.h"

namespace spex {
namespace {

AttentionGraph example() {
  std::vector<NodeId> sources = {0, 1, 2, 3, 4}, targets = {1, 2, 3, 4, 5};
  return augment(build_csr(8, sources, targets).graph, make_expander(8, {.degree = 4}).graph, {});
}

template <class T>
SharedArray<T> changed(const SharedArray<T>& from, size_t place, T value) {
  Buffer<T> copy(from.size(), MemoryTag::other);
  std::copy(from.begin(), from.end(), copy.begin());
  copy[place] = value;
  return copy;
}

TEST(AttentionFile, ReadsBackTheSame) {
  testing_support::TemporaryFolder folder;
  AttentionGraph graph = example();
  save_attention_graph(folder / "g", graph, 0xabcdef0123456789U);
  SavedGraph read = load_attention_graph(folder / "g");
  EXPECT_EQ(read.fingerprint, 0xabcdef0123456789U);
  EXPECT_EQ(read.graph.types, graph.types);
  EXPECT_EQ(read.graph.symmetric, graph.symmetric);
  EXPECT_TRUE(std::ranges::equal(read.graph.offsets, graph.offsets));
  EXPECT_TRUE(std::ranges::equal(read.graph.neighbours, graph.neighbours));
  EXPECT_TRUE(std::ranges::equal(read.graph.segment_ends, graph.segment_ends));
}

TEST(AttentionFile, WhoseRowsDoNotFitTogetherIsRefused) {
  testing_support::TemporaryFolder folder;
  auto refused = [&](const AttentionGraph& graph) {
    save_attention_graph(folder / "g", graph, 1);
    EXPECT_THROW(load_attention_graph(folder / "g"), Error);
  };
  AttentionGraph graph = example();
  graph.neighbours = changed<NodeId>(graph.neighbours, 3, 8);  // there are nodes 0 to 7
  refused(graph);
  graph = example();
  graph.segment_ends = changed<EdgeOffset>(graph.segment_ends, 2, 0);  // before its row
  refused(graph);
  graph = example();
  graph.segment_ends = changed<EdgeOffset>(graph.segment_ends, 2, graph.edges() + 1);
  refused(graph);
  write_safetensors(folder / "other", {}, {{"format", "spex-scores-1"}});
  EXPECT_THROW(load_attention_graph(folder / "other"), Error);
}

}  // namespace
}  // namespace spex
