#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/graph/builder.h>
#include <spex/graph/pattern.h>

namespace spex {
namespace {

AttentionGraph path(size_t nodes) {
  std::vector<NodeId> sources, targets;
  for (NodeId i = 0; i + 1 < nodes; ++i) {
    sources.push_back(i);
    targets.push_back(i + 1);
  }
  return augment(build_csr(nodes, sources, targets, {.undirected = false}).graph, {});
}

TEST(Pattern, CountsQueriesSourcesAndTypes) {
  AttentionGraph graph = path(7), transposed = transpose(graph);
  Pattern all = Pattern::all_rows(graph, transposed);
  EXPECT_EQ(all.queries(), 7);
  EXPECT_EQ(all.sources(), 7);
  EXPECT_EQ(all.types(), 3);
  ChosenRows some = choose_rows(transposed, {4, 2});
  Pattern chosen = Pattern::chosen_rows(graph, some);
  EXPECT_EQ(chosen.queries(), 2);
  EXPECT_EQ(chosen.sources(), 7);
  EXPECT_EQ(chosen.types(), 3);
  Pattern range = Pattern::row_range(graph, 2, 3);
  EXPECT_EQ(range.queries(), 3);
  EXPECT_EQ(range.sources(), 7);
  EXPECT_THROW(Pattern::row_range(graph, 5, 3), Error);
  NeighbourMatrix sample;
  sample.queries = 3;
  sample.sources = 9;
  sample.types = 1;
  Pattern sampled = Pattern::sampled(sample);
  EXPECT_EQ(sampled.queries(), 3);
  EXPECT_EQ(sampled.sources(), 9);
  EXPECT_EQ(sampled.types(), 1);
}

TEST(Pattern, RejectsTheTransposeOrTheRowsOfAnotherGraph) {
  AttentionGraph graph = path(7), other = path(8);
  EXPECT_THROW(Pattern::all_rows(graph, transpose(other)), Error);
  EXPECT_THROW(Pattern::chosen_rows(graph, choose_rows(transpose(other), {1})), Error);
}

}  // namespace
}  // namespace spex
