#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/graph/attention_graph.h>

#include <algorithm>
#include <limits>

namespace spex {
namespace {

constexpr size_t kBlockRows = 4096;
constexpr NodeId kNone = std::numeric_limits<NodeId>::max();

// The features of the edges that are left, `place` saying which sources are.
EdgeFeatures chosen_features(const AttentionGraph& all, const AttentionGraph& kept,
                             const Buffer<NodeId>& place) {
  size_t rows = all.nodes(), width = all.features.count;
  if (width == 0) return {};
  Buffer<EdgeOffset> begins(rows + 1, MemoryTag::graph);
  begins[0] = 0;
  for (size_t j = 0; j < rows; ++j)
    begins[j + 1] = begins[j] + kept.segment_end(0, j) - kept.offsets[j];
  Buffer<float> values(begins[rows] * width, MemoryTag::graph);
  parallel_for(rows, kBlockRows, [&](size_t begin, size_t end) {
    for (size_t j = begin; j < end; ++j) {
      auto to = values.begin() + begins[j] * width;
      auto from = all.features.values.begin() + all.features.rows[j] * width;
      for (EdgeOffset e = all.offsets[j]; e < all.segment_end(0, j); ++e, from += width)
        if (place[all.neighbours[e]] != kNone) to = std::copy_n(from, width, to);
    }
  });
  return {width, std::move(begins), std::move(values)};
}

}  // namespace

ChosenRows choose_rows(const AttentionGraph& transposed, std::vector<NodeId> nodes) {
  size_t rows = transposed.nodes();
  Buffer<NodeId> place(rows, MemoryTag::graph);
  std::fill(place.begin(), place.end(), kNone);
  for (size_t i = 0; i < nodes.size(); ++i) {
    require(nodes[i] < rows && place[nodes[i]] == kNone,
            "choose_rows: node {} of {} is not there or chosen twice", nodes[i], rows);
    place[nodes[i]] = static_cast<NodeId>(i);
  }

  // First how many each row keeps, then, from where each row begins, what it keeps.
  Buffer<EdgeOffset> offsets(rows + 1, MemoryTag::graph);
  Buffer<EdgeOffset> ends((transposed.types - 1) * rows, MemoryTag::graph);
  offsets[0] = 0;
  parallel_for(rows, kBlockRows, [&](size_t begin, size_t end) {
    for (size_t j = begin; j < end; ++j)
      offsets[j + 1] = static_cast<EdgeOffset>(
          std::count_if(transposed.neighbours.begin() + transposed.offsets[j],
                        transposed.neighbours.begin() + transposed.offsets[j + 1],
                        [&](NodeId source) { return place[source] != kNone; }));
  });
  for (size_t j = 0; j < rows; ++j) offsets[j + 1] += offsets[j];
  Buffer<NodeId> neighbours(offsets[rows], MemoryTag::graph);
  parallel_for(rows, kBlockRows, [&](size_t begin, size_t end) {
    for (size_t j = begin; j < end; ++j) {
      EdgeOffset to = offsets[j];
      for (size_t type = 0; type < transposed.types; ++type) {
        for (EdgeOffset e = transposed.segment_begin(type, j); e < transposed.segment_end(type, j);
             ++e)
          if (NodeId source = place[transposed.neighbours[e]]; source != kNone)
            neighbours[to++] = source;
        if (type + 1 < transposed.types) ends[type * rows + j] = to;
      }
    }
  });
  ChosenRows chosen;
  chosen.nodes = std::move(nodes);
  chosen.transposed.offsets = std::move(offsets);
  chosen.transposed.neighbours = std::move(neighbours);
  chosen.transposed.segment_ends = std::move(ends);
  chosen.transposed.types = transposed.types;
  chosen.transposed.features = chosen_features(transposed, chosen.transposed, place);
  return chosen;
}

}  // namespace spex
