#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/graph/subgraph.h>

#include <algorithm>
#include <limits>

namespace spex {
namespace {

constexpr size_t kRowBlock = 1024;
constexpr NodeId kAbsent = std::numeric_limits<NodeId>::max();

Buffer<NodeId> places_of(std::span<const NodeId> nodes, size_t all) {
  Buffer<NodeId> places(all, MemoryTag::graph);
  std::fill(places.begin(), places.end(), kAbsent);
  for (size_t i = 0; i < nodes.size(); ++i) {
    require(nodes[i] < all && places[nodes[i]] == kAbsent,
            "a subgraph needs each of its nodes once, and below {}; {} is not", all, nodes[i]);
    places[nodes[i]] = static_cast<NodeId>(i);
  }
  return places;
}

}  // namespace

AttentionGraph induced_subgraph(const AttentionGraph& graph, std::span<const NodeId> nodes) {
  require(graph.virtual_nodes == 0, "a subgraph of a graph with virtual nodes has no meaning");
  Buffer<NodeId> place = places_of(nodes, graph.nodes());
  Buffer<EdgeOffset> offsets(nodes.size() + 1, MemoryTag::graph);
  offsets[0] = 0;
  parallel_for(nodes.size(), kRowBlock, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      offsets[i + 1] = static_cast<EdgeOffset>(
          std::count_if(graph.neighbours.begin() + graph.offsets[nodes[i]],
                        graph.neighbours.begin() + graph.offsets[nodes[i] + 1],
                        [&](NodeId neighbour) { return place[neighbour] != kAbsent; }));
  });
  for (size_t i = 0; i < nodes.size(); ++i) offsets[i + 1] += offsets[i];
  Buffer<NodeId> neighbours(offsets[nodes.size()], MemoryTag::graph);
  Buffer<EdgeOffset> ends((graph.types - 1) * nodes.size(), MemoryTag::graph);
  parallel_for(nodes.size(), kRowBlock, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      EdgeOffset next = offsets[i];
      for (size_t t = 0; t < graph.types; ++t) {
        EdgeOffset first = next;
        for (EdgeOffset e = graph.segment_begin(t, nodes[i]); e < graph.segment_end(t, nodes[i]);
             ++e)
          if (NodeId at = place[graph.neighbours[e]]; at != kAbsent) neighbours[next++] = at;
        std::sort(neighbours.begin() + first, neighbours.begin() + next);
        if (t + 1 < graph.types) ends[t * nodes.size() + i] = next;
      }
    }
  });
  return {std::move(offsets), std::move(neighbours), std::move(ends),
          graph.types,        graph.symmetric,       0};
}

}  // namespace spex
