#include <gtest/gtest.h>
#include <spex/core/random.h>
#include <spex/core/threads.h>
#include <spex/graph/neighbour_matrix.h>

#include <algorithm>
#include <vector>

namespace spex {
namespace {

struct Shape {
  size_t queries, sources, k, types;
};

// Rows of random length; the types end at random places.
NeighbourMatrix random_pattern(const Shape& shape, bool with_log_score) {
  auto [queries, sources, k, types] = shape;
  Random random(queries + k, Purpose::test);
  NeighbourMatrix pattern;
  pattern.queries = queries;
  pattern.sources = sources;
  pattern.k = k;
  pattern.types = types;
  pattern.indices = Buffer<NodeId>(queries * k, MemoryTag::graph);
  pattern.ends = Buffer<uint16_t>(types * queries, MemoryTag::graph);
  std::fill(pattern.indices.begin(), pattern.indices.end(), 4'000'000'000U);  // masked: never read
  if (with_log_score) pattern.log_score = Buffer<float>(queries * k, MemoryTag::graph);
  for (size_t i = 0; i < queries; ++i) {
    size_t end = 0;
    for (size_t t = 0; t < types; ++t) {
      end += random.below(k - end + 1, types * i + t);
      pattern.ends[t * queries + i] = static_cast<uint16_t>(end);
    }
    for (size_t e = i * k; e < i * k + end; ++e) {
      pattern.indices[e] = static_cast<NodeId>(random.below(sources, 1'000'000 + e));
      if (with_log_score) pattern.log_score[e] = -static_cast<float>(random.uniform(e));
    }
  }
  return pattern;
}

struct Entry {
  size_t query;
  float log_score;
  bool operator==(const Entry&) const = default;
};

// By definition: an edge of a type from query i to source j becomes one of that type in row j.
void expect_transposed(const TransposedNeighbours& transposed, const NeighbourMatrix& pattern) {
  size_t n = pattern.sources;
  bool scored = !pattern.log_score.empty();
  EXPECT_EQ(transposed.log_score.size(), scored ? transposed.queries.size() : 0);
  for (size_t t = 0; t < pattern.types; ++t) {
    std::vector<std::vector<Entry>> rows(n);
    for (size_t i = 0; i < pattern.queries; ++i)
      for (size_t e = t == 0 ? 0 : pattern.ends[(t - 1) * pattern.queries + i];
           e < pattern.ends[t * pattern.queries + i]; ++e) {
        size_t at = i * pattern.k + e;
        rows[pattern.indices[at]].push_back({i, scored ? pattern.log_score[at] : 0});
      }
    for (size_t j = 0; j < n; ++j) {
      EdgeOffset begin = t == 0 ? transposed.offsets[j] : transposed.segment_ends[(t - 1) * n + j];
      EdgeOffset end =
          t + 1 == pattern.types ? transposed.offsets[j + 1] : transposed.segment_ends[t * n + j];
      std::vector<Entry> row;
      for (EdgeOffset e = begin; e < end; ++e)
        row.push_back({transposed.queries[e], scored ? transposed.log_score[e] : 0});
      ASSERT_EQ(row, rows[j]) << "type " << t << ", source " << j;
    }
  }
}

TEST(TransposedNeighbours, MatchTheDefinitionForAnyNumberOfThreads) {
  for (Shape shape : {Shape{1, 1, 1, 1},
                      {5, 9, 3, 3},
                      {300, 1000, 10, 3},
                      {1000, 1000, 4, 4},
                      {20000, 30000, 10, 3},
                      {4000, 3, 12, 2},
                      {3, 50000, 60, 3}})
    for (bool with_log_score : {false, true})
      for (int count : {1, 2, 5}) {
        set_threads(count);
        SCOPED_TRACE(testing::Message()
                     << shape.queries << " x " << shape.k << ", threads " << count);
        NeighbourMatrix pattern = random_pattern(shape, with_log_score);
        expect_transposed(transpose(pattern), pattern);
      }
  set_threads(0);
}

TEST(NeighbourMatrix, ChosenRowsKeepNeighboursTypesAndScores) {
  for (bool with_log_score : {false, true}) {
    NeighbourMatrix pattern = random_pattern({60, 80, 9, 3}, with_log_score);
    std::vector<NodeId> rows = {59, 0, 7, 7, 31};
    NeighbourMatrix chosen = choose_rows(pattern, rows);
    ASSERT_EQ(chosen.queries, rows.size());
    EXPECT_EQ(chosen.sources, pattern.sources);
    EXPECT_EQ(chosen.log_score.empty(), !with_log_score);
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t t = 0; t < 3; ++t)
        EXPECT_EQ(chosen.ends[t * rows.size() + i], pattern.ends[t * 60 + rows[i]]);
      for (size_t e = 0; e < chosen.count(i); ++e) {
        EXPECT_EQ(chosen.indices[i * 9 + e], pattern.indices[rows[i] * 9 + e]);
        if (with_log_score) {
          EXPECT_EQ(chosen.log_score[i * 9 + e], pattern.log_score[rows[i] * 9 + e]);
        }
      }
    }
  }
}

TEST(TransposedNeighbours, OfNoQueriesAreEmptyRows) {
  for (size_t sources : {0, 4}) {
    NeighbourMatrix pattern;
    pattern.sources = sources;
    pattern.k = 3;
    TransposedNeighbours transposed = transpose(pattern);
    ASSERT_EQ(transposed.offsets.size(), sources + 1);
    for (EdgeOffset offset : transposed.offsets) EXPECT_EQ(offset, 0);
    for (EdgeOffset end : transposed.segment_ends) EXPECT_EQ(end, 0);
  }
}

}  // namespace
}  // namespace spex
