// A counting sort by source. Queries are cut into a few parts, one cursor per part, type and
// source: each part then writes to places of its own, in an order that does not depend on the
// parts.
#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/graph/neighbour_matrix.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace spex {
namespace {

constexpr size_t kMostParts = 8;           // cursors cost memory
constexpr size_t kLeastQueries = 1024;     // of a part
constexpr size_t kBlockSources = 8 << 10;  // whose cursors are summed together

// cursors[(part * types + type) * sources + source]: first counts, then places in the result. In 32
// bits, since most of the time goes into fetching them.
struct Cursors {
  explicit Cursors(const NeighbourMatrix& pattern)
      : sources(pattern.sources),
        types(pattern.types),
        parts(std::clamp<size_t>(pattern.queries / kLeastQueries, 1,
                                 std::min(kMostParts, static_cast<size_t>(threads())))),
        values(parts * types * sources, MemoryTag::graph) {}
  uint32_t* row(size_t part, size_t type) {
    return values.data() + (part * types + type) * sources;
  }
  size_t sources, types, parts;
  Buffer<uint32_t> values;
};

// Calls visit(cursor of the edge, query, position in indices) for every edge, part by part.
template <class Visit>
void for_each_edge(const NeighbourMatrix& pattern, Cursors& cursors, Visit visit) {
  size_t n = pattern.queries;
  parallel_blocks(cursors.parts, [&](size_t part) {
    for (size_t i = part * n / cursors.parts; i < (part + 1) * n / cursors.parts; ++i) {
      size_t e = i * pattern.k;
      for (size_t t = 0; t < pattern.types; ++t) {
        uint32_t* row = cursors.row(part, t);
        for (size_t end = i * pattern.k + pattern.ends[t * n + i]; e < end; ++e)
          visit(row[pattern.indices[e]], i, e);
      }
    }
  });
}

// The edges of each block of sources, added up to where the block begins.
std::vector<EdgeOffset> block_begins(Cursors& cursors) {
  std::vector<EdgeOffset> begins(cursors.sources / kBlockSources + 2, 0);
  parallel_for(cursors.sources, kBlockSources, [&](size_t begin, size_t end) {
    EdgeOffset sum = 0;
    for (size_t row = 0; row < cursors.parts * cursors.types; ++row)
      for (size_t j = begin; j < end; ++j) sum += cursors.values[row * cursors.sources + j];
    begins[begin / kBlockSources + 1] = sum;
  });
  for (size_t b = 1; b < begins.size(); ++b) begins[b] += begins[b - 1];
  return begins;
}

// From counts to places: source by source, type by type, part by part.
void counts_to_places(TransposedNeighbours& result, Cursors& cursors) {
  size_t n = cursors.sources;
  std::vector<EdgeOffset> begins = block_begins(cursors);
  result.offsets = Buffer<EdgeOffset>(n + 1, MemoryTag::graph);
  result.segment_ends = Buffer<EdgeOffset>((cursors.types - 1) * n, MemoryTag::graph);
  parallel_for(n, kBlockSources, [&](size_t begin, size_t end) {
    auto place = static_cast<uint32_t>(begins[begin / kBlockSources]);
    for (size_t j = begin; j < end; ++j) {
      result.offsets[j] = place;
      for (size_t t = 0; t < cursors.types; ++t) {
        for (size_t part = 0; part < cursors.parts; ++part)
          place += std::exchange(cursors.row(part, t)[j], place);
        if (t + 1 < cursors.types) result.segment_ends[t * n + j] = place;
      }
    }
  });
  result.offsets[n] = begins.back();
}

}  // namespace

TransposedNeighbours transpose(const NeighbourMatrix& pattern) {
  require(
      pattern.queries * pattern.k <= std::numeric_limits<uint32_t>::max(),
      "a layer of {} nodes with {} neighbours each is too large for one batch; use smaller ones",
      pattern.queries, pattern.k);
  TransposedNeighbours result;
  Cursors cursors(pattern);
  parallel_for(cursors.values.size(), 1 << 16, [&](size_t begin, size_t end) {
    std::fill(cursors.values.begin() + begin, cursors.values.begin() + end, 0);
  });
  for_each_edge(pattern, cursors, [](uint32_t& count, size_t, size_t) { ++count; });
  counts_to_places(result, cursors);
  size_t edges = result.offsets[pattern.sources];
  bool scored = !pattern.log_score.empty();
  size_t width = pattern.feature_count;
  result.queries = Buffer<NodeId>(edges, MemoryTag::graph);
  if (scored) result.log_score = Buffer<float>(edges, MemoryTag::graph);
  result.features = Buffer<float>(edges * width, MemoryTag::graph);
  for_each_edge(pattern, cursors, [&](uint32_t& cursor, size_t query, size_t at) {
    uint32_t place = cursor++;
    result.queries[place] = static_cast<NodeId>(query);
    if (scored) result.log_score[place] = pattern.log_score[at];
    if (width > 0 && at < query * pattern.k + pattern.ends[query])
      std::copy_n(pattern.features.begin() + at * width, width,
                  result.features.begin() + size_t{place} * width);
  });
  return result;
}

NeighbourMatrix choose_rows(const NeighbourMatrix& pattern, std::span<const NodeId> queries) {
  size_t k = pattern.k, scores = pattern.log_score.empty() ? 0 : queries.size() * k;
  size_t numbers = k * pattern.feature_count;  // of a query's edges
  NeighbourMatrix result;
  result.queries = queries.size();
  result.sources = pattern.sources;
  result.k = k;
  result.types = pattern.types;
  result.indices = Buffer<NodeId>(queries.size() * k, MemoryTag::graph);
  result.ends = Buffer<uint16_t>(pattern.types * queries.size(), MemoryTag::graph);
  result.log_score = Buffer<float>(scores, MemoryTag::graph);
  result.feature_count = pattern.feature_count;
  result.features = Buffer<float>(queries.size() * numbers, MemoryTag::graph);
  parallel_for(queries.size(), kBlockSources, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      size_t from = queries[i];
      std::copy_n(pattern.indices.begin() + from * k, k, result.indices.begin() + i * k);
      if (scores > 0)
        std::copy_n(pattern.log_score.begin() + from * k, k, result.log_score.begin() + i * k);
      std::copy_n(pattern.features.begin() + from * numbers,
                  pattern.ends[from] * pattern.feature_count,
                  result.features.begin() + i * numbers);
      for (size_t t = 0; t < pattern.types; ++t)
        result.ends[t * queries.size() + i] = pattern.ends[t * pattern.queries + from];
    }
  });
  return result;
}

}  // namespace spex
