// Sums over neighbourhoods: the convolutions of GCN (both factors 1 / sqrt(degree)), GraphSAGE (a
// mean: the query's factor 1 / degree) and of sampled subgraphs (a value per edge).
#pragma once

#include <spex/graph/pattern.h>
#include <spex/tensor/tape.h>

#include <span>

namespace spex {

// What an edge from query i to source j counts: r_i w_ij c_j. Empty: ones. All must outlive the
// tape.
struct AggregateWeights {
  std::span<const float> per_query = {};   // r
  std::span<const float> per_source = {};  // c
  // w, in the order of the graph's entries and of its transpose's (`transpose_values`); for
  // patterns of all rows.
  std::span<const float> per_edge = {};
  std::span<const float> per_edge_transposed = {};
};

// y_i = r_i sum_j w_ij c_j x_j over the sources j that query i sees; zeros where there are none.
// The gradient walks the transposed pattern: it does not depend on the number of threads.
Var aggregate(Tape& tape, const Var& x, const Pattern& pattern,
              const AggregateWeights& weights = {});

// y plus that, in the buffer of y if it was handed over.
Var add_aggregate(Tape& tape, Var y, const Var& x, const Pattern& pattern,
                  const AggregateWeights& weights = {});

}  // namespace spex
