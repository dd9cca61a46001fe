// A pattern of fixed degree: up to k neighbours for each of a batch's queries, as an index matrix.
//
//   indices[i * k .. i * k + ends[T-1][i])   the neighbours of query i, grouped by edge type
//   ends[t * queries + i]                    how many of them are of types 0 .. t
//
// What lies behind a row's count is masked: never read. Queries are the first rows of the layer's
// input, or chosen ones; keys and values are all of its rows, so `sources` is at least `queries`.
#pragma once

#include <spex/graph/attention_graph.h>

#include <span>

namespace spex {

struct NeighbourMatrix {
  size_t queries = 0;
  size_t sources = 0;  // rows of the layer's input; every index is below it
  size_t k = 0;
  size_t types = 3;
  Buffer<NodeId> indices;   // queries * k
  Buffer<uint16_t> ends;    // types * queries
  Buffer<float> log_score;  // queries * k, or empty: the estimator's opinion of each edge
  size_t feature_count = 0;
  Buffer<float> features;  // queries * k * feature_count; of graph edges only, see EdgeFeatures

  size_t count(size_t query) const { return ends[(types - 1) * queries + query]; }
};

// Row j lists the queries that attend to source j, grouped by type, with the edges' log-scores and
// features.
struct TransposedNeighbours {
  Buffer<EdgeOffset> offsets;  // sources + 1
  Buffer<NodeId> queries;
  Buffer<EdgeOffset> segment_ends;  // (types - 1) * sources
  Buffer<float> log_score;          // or empty
  Buffer<float> features;           // or empty; entries x feature_count, of graph edges only
};

TransposedNeighbours transpose(const NeighbourMatrix& pattern);

// The pattern of some of the queries.
NeighbourMatrix choose_rows(const NeighbourMatrix& pattern, std::span<const NodeId> queries);

}  // namespace spex
