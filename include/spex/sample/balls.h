// The surroundings of each node, as an attention graph whose edge types are distances: type 0 is
// the node itself, type t what is t steps away. Of each node's neighbours a few are drawn, the same
// in every ball that comes by at that distance; a distance is one along drawn edges.
#pragma once

#include <spex/graph/attention_graph.h>

#include <span>

namespace spex {

// `local` has the graph's own edges; fan_out[t - 1] neighbours are drawn of each node at distance
// t - 1. Rows ascend within a type.
AttentionGraph draw_balls(const AttentionGraph& local, std::span<const size_t> fan_out,
                          uint64_t seed);

}  // namespace spex
