// Calls the kernels (additive_kernels.h) on strips of heads and blocks of rows, and hands the
// gradients back.
#include <spex/ops/additive_attention.h>

#include "ops/additive_kernels.h"
#include "ops/checks.h"
#include "ops/neighbour_blocks.h"

namespace spex {
namespace {

AdditiveView view_of(const NeighbourRows& rows, ConstMatrixView table, size_t heads, float slope) {
  AdditiveView view;
  view.rows = rows;
  view.table = table.data;
  view.heads = heads;
  view.width = table.cols / heads;
  view.slope = slope;
  view.prefetch = table.size() > kCacheFloats;
  return view;
}

// What backward needs besides the inputs.
struct Kept {
  AdditiveInputs in;
  Pattern pattern;
  float slope;
  Matrix largest, inverse_sum;  // queries x H
  size_t heads() const { return largest.cols(); }
};

Matrix forward(Kept& kept) {
  const AdditiveInputs& in = kept.in;
  Matrix out(kept.pattern.queries(), in.values.cols(), MemoryTag::activations);
  AdditiveForward c;
  c.view = view_of(query_rows(kept.pattern), in.values.value(), kept.heads(), kept.slope);
  c.source_scores = in.source_scores.value().data;
  c.query_scores = in.query_scores.value().data;
  c.out = out.data();
  c.largest = kept.largest.data();
  c.inverse_sum = kept.inverse_sum.data();
  for_strips(c.view.rows.rows, c.view.heads, c.view.width,
             [&](size_t first, size_t last, size_t begin, size_t end) {
               SPEX_CALL(additive_forward, c, first, last, begin, end);
             });
  return out;
}

// The gradient of the query scores, and what the source side needs of each query.
Matrix query_backward(const Kept& kept, ConstMatrixView dout, Matrix& query_numbers) {
  const AdditiveInputs& in = kept.in;
  Matrix dscores(kept.pattern.queries(), kept.heads(), MemoryTag::gradients);
  AdditiveQueryBackward c;
  c.view = view_of(query_rows(kept.pattern), in.values.value(), kept.heads(), kept.slope);
  c.source_scores = in.source_scores.value().data;
  c.query_scores = in.query_scores.value().data;
  c.largest = kept.largest.data();
  c.inverse_sum = kept.inverse_sum.data();
  c.dout = dout.data;
  c.dquery_scores = dscores.data();
  c.query_numbers = query_numbers.data();
  for_strips(c.view.rows.rows, c.view.heads, c.view.width,
             [&](size_t first, size_t last, size_t begin, size_t end) {
               SPEX_CALL(additive_query_backward, c, first, last, begin, end);
             });
  return dscores;
}

// The gradient of the source scores; that of the values goes to `dvalues`.
Matrix source_backward(const Kept& kept, ConstMatrixView dout, const Matrix& query_numbers,
                       GradientTarget dvalues) {
  TransposedNeighbours made;
  Matrix dscores(kept.pattern.sources(), kept.heads(), MemoryTag::gradients);
  AdditiveSourceBackward c;
  c.view = view_of(source_rows(kept.pattern, made), dout, kept.heads(), kept.slope);
  c.query_numbers = query_numbers.data();
  c.source_scores = kept.in.source_scores.value().data;
  c.values = kept.in.values.value().data;
  c.dvalues = dvalues.out.data;
  c.add = dvalues.add;
  c.dsource_scores = dscores.data();
  for_strips(c.view.rows.rows, c.view.heads, c.view.width,
             [&](size_t first, size_t last, size_t begin, size_t end) {
               SPEX_CALL(additive_source_backward, c, first, last, begin, end);
             });
  return dscores;
}

void backward(const Kept& kept, ConstMatrixView dout) {
  const AdditiveInputs& in = kept.in;
  Matrix query_numbers(dout.rows, kQueryNumbers * kept.heads(), MemoryTag::gradients);
  Matrix dqueries = query_backward(kept, dout, query_numbers);
  if (const auto& gradient = in.query_scores.gradient()) gradient->give(std::move(dqueries));
  if (!in.values.gradient() && !in.source_scores.gradient()) return;
  Gradient unwanted;
  Gradient& values = in.values.gradient() ? *in.values.gradient() : unwanted;
  Matrix dsources = source_backward(kept, dout, query_numbers,
                                    values.target(kept.pattern.sources(), in.values.cols()));
  if (const auto& gradient = in.source_scores.gradient()) gradient->give(std::move(dsources));
}

}  // namespace

// Kept for backward: the inputs, and per query and head the largest score and the normaliser.
Var additive_attention(Tape& tape, const AdditiveInputs& in, const Pattern& pattern, float slope) {
  size_t heads = in.source_scores.cols();
  require(heads > 0 && in.values.cols() > 0 && in.values.cols() % heads == 0,
          "additive attention: {} heads do not divide a width of {}", heads, in.values.cols());
  require_shape(in.values, pattern.sources(), in.values.cols(), "additive attention, values");
  require_shape(in.source_scores, pattern.sources(), heads, "additive attention, source scores");
  require_shape(in.query_scores, pattern.queries(), heads, "additive attention, query scores");
  for (const Var& input : {in.values, in.source_scores, in.query_scores})
    require_packed(input.value(), "additive attention");
  require(slope >= 0 && slope <= 1, "additive attention: a slope of {}, not in [0, 1]", slope);
  auto kept = std::make_shared<Kept>();
  kept->in = in;
  kept->pattern = pattern;
  kept->slope = slope;
  kept->largest = Matrix(pattern.queries(), heads, MemoryTag::activations);
  kept->inverse_sum = Matrix(pattern.queries(), heads, MemoryTag::activations);
  Matrix out = forward(*kept);
  return tape.result(std::move(out), {in.values, in.source_scores, in.query_scores},
                     [kept](ConstMatrixView dout) { backward(*kept, dout); });
}

}  // namespace spex
