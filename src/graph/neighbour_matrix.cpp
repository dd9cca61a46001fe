#include <spex/graph/neighbour_matrix.h>

#include <vector>

namespace spex {
namespace {

// Calls visit(query, type, position in indices) for every edge, type by type.
template <class Visit>
void for_each_edge(const NeighbourMatrix& pattern, size_t type, Visit&& visit) {
  for (size_t i = 0; i < pattern.queries; ++i) {
    size_t begin = type == 0 ? 0 : pattern.ends[(type - 1) * pattern.queries + i];
    size_t end = pattern.ends[type * pattern.queries + i];
    for (size_t e = begin; e < end; ++e) visit(i, i * pattern.k + e);
  }
}

}  // namespace

TransposedNeighbours transpose(const NeighbourMatrix& pattern) {
  size_t n = pattern.sources;
  TransposedNeighbours result;
  // Counting sort by source, one type after the other, so that rows come out grouped by type.
  std::vector<EdgeOffset> cursor(n, 0);
  for (size_t t = 0; t < pattern.types; ++t)
    for_each_edge(pattern, t, [&](size_t, size_t at) { ++cursor[pattern.indices[at]]; });
  result.offsets = Buffer<EdgeOffset>(n + 1, MemoryTag::graph);
  result.offsets[0] = 0;
  for (size_t j = 0; j < n; ++j) {
    result.offsets[j + 1] = result.offsets[j] + cursor[j];
    cursor[j] = result.offsets[j];
  }
  size_t edges = result.offsets[n];
  result.queries = Buffer<NodeId>(edges, MemoryTag::graph);
  result.segment_ends = Buffer<EdgeOffset>((pattern.types - 1) * n, MemoryTag::graph);
  if (!pattern.log_score.empty()) result.log_score = Buffer<float>(edges, MemoryTag::graph);
  for (size_t t = 0; t < pattern.types; ++t) {
    for_each_edge(pattern, t, [&](size_t i, size_t at) {
      EdgeOffset to = cursor[pattern.indices[at]]++;
      result.queries[to] = static_cast<NodeId>(i);
      if (!result.log_score.empty()) result.log_score[to] = pattern.log_score[at];
    });
    if (t + 1 < pattern.types)
      for (size_t j = 0; j < n; ++j) result.segment_ends[t * n + j] = cursor[j];
  }
  return result;
}

}  // namespace spex
