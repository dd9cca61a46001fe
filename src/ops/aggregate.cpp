// With R = diag(r) and C = diag(c): y = R W C x, hence dx = C Wt R dy. Row j of the transpose lists
// who sees j, so each row of dx is one thread's own.
#include <spex/ops/aggregate.h>

#include "ops/aggregate_kernels.h"
#include "ops/checks.h"
#include "ops/neighbour_blocks.h"

namespace spex {
namespace {

void check(const Var& x, const Pattern& pattern, const AggregateWeights& weights) {
  require(x.rows() == pattern.sources() && x.cols() > 0,
          "aggregate: {} x {} values for a pattern of {} sources", x.rows(), x.cols(),
          pattern.sources());
  require_packed(x.value(), "aggregate");
  auto fits = [](std::span<const float> values, size_t count) {
    return values.empty() || values.size() == count;
  };
  require(fits(weights.per_query, pattern.queries()) && fits(weights.per_source, pattern.sources()),
          "aggregate: {} and {} factors for {} queries and {} sources", weights.per_query.size(),
          weights.per_source.size(), pattern.queries(), pattern.sources());
  if (weights.per_edge.empty() && weights.per_edge_transposed.empty()) return;
  require(pattern.transposed, "aggregate: only a pattern of all rows takes a value for each edge");
  size_t edges = pattern.graph->edges();
  require(weights.per_edge.size() == edges && weights.per_edge_transposed.size() == edges,
          "aggregate: {} and, transposed, {} values for {} edges", weights.per_edge.size(),
          weights.per_edge_transposed.size(), edges);
}

// x has its rows read by id; y has a row for each of sums.rows.
void run(WeightedSums sums, GradientTarget y, ConstMatrixView x) {
  constexpr size_t kUnit = 16;  // columns: strips begin on a cache line
  sums.x = x.data;
  sums.width = x.cols;
  sums.prefetch = x.size() > kCacheFloats;
  sums.y = y.out.data;
  sums.add = y.add;
  for_strips(sums.rows.rows, (x.cols + kUnit - 1) / kUnit, kUnit,
             [&](size_t first, size_t last, size_t begin, size_t end) {
               SPEX_CALL(weighted_sums, sums, first * kUnit, std::min(x.cols, last * kUnit), begin,
                         end);
             });
}

const float* data_or_null(std::span<const float> values) {
  return values.empty() ? nullptr : values.data();
}

WeightedSums forward_sums(const Pattern& pattern, const AggregateWeights& weights) {
  WeightedSums sums;
  sums.rows = query_rows(pattern);
  sums.row_factor = data_or_null(weights.per_query);
  sums.id_factor = data_or_null(weights.per_source);
  sums.values = data_or_null(weights.per_edge);
  return sums;
}

Tape::Backward undo(const Var& x, const Pattern& pattern, const AggregateWeights& weights) {
  return [pattern, weights, dx = x.gradient()](ConstMatrixView dy) {
    TransposedNeighbours made;
    WeightedSums sums;
    sums.rows = source_rows(pattern, made);
    sums.row_factor = data_or_null(weights.per_source);
    sums.id_factor = data_or_null(weights.per_query);
    sums.values = data_or_null(weights.per_edge_transposed);
    run(sums, dx->target(pattern.sources(), dy.cols), dy);
  };
}

}  // namespace

// Kept for backward: nothing.
Var aggregate(Tape& tape, const Var& x, const Pattern& pattern, const AggregateWeights& weights) {
  check(x, pattern, weights);
  Matrix y(pattern.queries(), x.cols(), MemoryTag::activations);
  run(forward_sums(pattern, weights), {y, false}, x.value());
  return tape.result(std::move(y), {x}, undo(x, pattern, weights));
}

Var add_aggregate(Tape& tape, Var y, const Var& x, const Pattern& pattern,
                  const AggregateWeights& weights) {
  check(x, pattern, weights);
  require_shape(y, pattern.queries(), x.cols(), "add_aggregate");
  require_packed(y.value(), "add_aggregate");
  Matrix sum = Tape::buffer_of(y);
  if (sum.data() != y.value().data) copy(sum, y.value());
  run(forward_sums(pattern, weights), {sum, true}, x.value());
  return tape.result_owning(
      Tape::share(std::move(sum)), {y, x},
      [undo = undo(x, pattern, weights), gx = x.gradient(), gy = y.gradient()](Matrix dy) {
        if (gx) undo(dy.view());
        if (gy) gy->give(std::move(dy));
      });
}

}  // namespace spex
