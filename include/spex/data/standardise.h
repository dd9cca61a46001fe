// Columns of very different sizes, brought to about one. The statistics belong to the model: what
// is predicted for later must be brought to the same scale.
#pragma once

#include <spex/data/dataset.h>

#include <span>
#include <vector>

namespace spex {

// x becomes (x - mean) * scale. Without means nothing is centred, so that zeros stay zeros.
// Doubles: a column around millions differs in what floats round away.
struct ColumnScaling {
  std::vector<double> mean;   // empty, or one per column
  std::vector<double> scale;  // one per column; empty: nothing changes
};

// Dense: mean and standard deviation. Sparse: the root mean square of the stored values, without
// centring. Columns of nothing but 0 and 1 say what they say, and constant ones nothing: both stay
// as they are, but for the constants' mean.
ColumnScaling measure_features(const Features& features);
// Sparse features become dense where a scaling that was measured on dense ones centres them.
Features scaled(const Features& features, const ColumnScaling& scaling);

// The same of edge features; `width` values a row.
ColumnScaling measure_rows(std::span<const float> rows, size_t width);
Buffer<float> scaled_rows(std::span<const float> rows, const ColumnScaling& scaling, MemoryTag tag);

// Of the targets of a regression, by these nodes alone: those that are trained on.
ColumnScaling measure_targets(const Labels& labels, std::span<const NodeId> nodes);
Labels scaled(const Labels& labels, const ColumnScaling& scaling);
// Undoes it, in place: predictions as the user's targets are.
void unscale(MatrixView predictions, const ColumnScaling& scaling);

}  // namespace spex
