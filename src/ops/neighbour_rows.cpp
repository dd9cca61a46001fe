#include "ops/neighbour_rows.h"

#include <spex/core/error.h>

namespace spex {
namespace {

NeighbourRows rows_of(const AttentionGraph& graph) {
  NeighbourRows rows;
  rows.rows = graph.nodes();
  rows.ids = graph.neighbours.data();
  rows.offsets = graph.offsets.data();
  return rows;
}

}  // namespace

NeighbourRows query_rows(const Pattern& pattern) {
  NeighbourRows rows;
  if (pattern.sample) {
    const NeighbourMatrix& sample = *pattern.sample;
    rows.ids = sample.indices.data();
    rows.k = sample.k;
    rows.counts = sample.ends.data() + (sample.types - 1) * sample.queries;
  } else {
    rows = rows_of(*pattern.graph);
    if (pattern.chosen) rows.chosen = pattern.chosen->nodes.data();
    rows.offsets += pattern.first;
  }
  rows.rows = pattern.queries();
  return rows;
}

NeighbourRows source_rows(const Pattern& pattern, TransposedNeighbours& made) {
  if (pattern.chosen) return rows_of(pattern.chosen->transposed);
  require(pattern.sample || pattern.transposed,
          "a range of rows has no transpose to go back along");
  if (!pattern.sample) return rows_of(*pattern.transposed);
  made = transpose(*pattern.sample);
  NeighbourRows rows;
  rows.rows = pattern.sources();
  rows.ids = made.queries.data();
  rows.offsets = made.offsets.data();
  return rows;
}

}  // namespace spex
