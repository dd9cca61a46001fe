// The rows of a pattern as kernels walk them: whatever the pattern is, row i has the entries
// [begin(i), end(i)) of `ids`. Edge types are of no matter here.
#pragma once

#include <spex/graph/pattern.h>

namespace spex {

struct NeighbourRows {
  size_t rows = 0;
  const NodeId* ids = nullptr;
  const EdgeOffset* offsets = nullptr;  // compressed rows, or null
  const NodeId* chosen = nullptr;       // with offsets: row i is that of node chosen[i]
  size_t k = 0;                         // fixed degree: row i begins at i * k
  const uint16_t* counts = nullptr;

  size_t begin(size_t row) const { return offsets ? offsets[node(row)] : row * k; }
  size_t end(size_t row) const { return offsets ? offsets[node(row) + 1] : row * k + counts[row]; }

 private:
  size_t node(size_t row) const { return chosen ? chosen[row] : row; }
};

// The sources that each query sees.
NeighbourRows query_rows(const Pattern& pattern);

// The queries that see each source. What a sample's transpose takes is made here, into `made`.
NeighbourRows source_rows(const Pattern& pattern, TransposedNeighbours& made);

}  // namespace spex
