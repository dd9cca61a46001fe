#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/graph/attention_graph.h>

#include <algorithm>
#include <limits>

namespace spex {
namespace {

constexpr size_t kBlockRows = 4096;
constexpr NodeId kNone = std::numeric_limits<NodeId>::max();

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
  return chosen;
}

}  // namespace spex
