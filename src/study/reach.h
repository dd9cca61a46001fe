// How far information travels: pairs of nodes that have seen each other, layer by layer, and the
// spectral gap of a random walk.
#pragma once

#include <spex/graph/attention_graph.h>

#include <vector>

namespace spex {

inline constexpr size_t kReachSources = 1024;     // where there are too many nodes to follow all
inline constexpr size_t kReachAllUpTo = 20'000;   // nodes
inline constexpr size_t kReachMostLayers = 1000;  // beyond, it counts as never

struct Reach {
  std::vector<double> seen;  // share of pairs (source, node) after 0, 1, .. layers
  bool complete = false;     // all of them, in the end
  bool sampled = false;      // sources are a random sample of the nodes
};
Reach measure_reach(const AttentionGraph& graph, uint64_t seed);

// One less the second-largest eigenvalue of D^-1 A of a symmetric graph.
double walk_gap(const AttentionGraph& graph);

}  // namespace spex
