#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/data/feature_columns.h>
#include <spex/data/standardise.h>

#include <algorithm>
#include <cmath>

namespace spex {
namespace {

constexpr size_t kScaledRows = 4096;

// Sums over rows, per column; of NaN, which is missing, nothing.
struct Sums {
  std::vector<double> sum, count;
  std::vector<uint8_t> other;  // whether a value is neither 0 nor 1
  explicit Sums(size_t columns) : sum(columns), count(columns), other(columns) {}
  Sums& operator+=(const Sums& more) {
    for (size_t c = 0; c < sum.size(); ++c) {
      sum[c] += more.sum[c];
      count[c] += more.count[c];
      other[c] = other[c] | more.other[c];
    }
    return *this;
  }
  double mean(size_t c) const { return sum[c] / std::max(1.0, count[c]); }
};

// The sums of term(column, value) over all rows that value(row, column) tells.
template <class Value, class Term>
Sums sum_columns(size_t rows, size_t columns, Value value, Term term) {
  return parallel_sum(rows, kScaledRows, Sums(columns), [&](size_t begin, size_t end) {
    Sums part(columns);
    for (size_t r = begin; r < end; ++r)
      for (size_t c = 0; c < columns; ++c) {
        float v = value(r, c);
        if (std::isnan(v)) continue;
        part.sum[c] += term(c, static_cast<double>(v));
        part.count[c] += 1;
        part.other[c] |= v != 0.0F && v != 1.0F;
      }
    return part;
  });
}

// Two passes: with a mean of millions, the difference of squares would leave nothing.
template <class Value>
ColumnScaling measure(size_t rows, size_t columns, Value value) {
  Sums first = sum_columns(rows, columns, value, [](size_t, double v) { return v; });
  Sums second = sum_columns(rows, columns, value, [&](size_t c, double v) {
    return (v - first.mean(c)) * (v - first.mean(c));
  });
  ColumnScaling scaling{std::vector<double>(columns), std::vector<double>(columns, 1.0)};
  for (size_t c = 0; c < columns; ++c) {
    if (first.other[c] == 0) continue;
    scaling.mean[c] = first.mean(c);
    double deviation = std::sqrt(second.mean(c));
    // What is left of a constant is rounding.
    if (deviation > 1e-7 * std::abs(first.mean(c))) scaling.scale[c] = 1.0 / deviation;
  }
  return scaling;
}

ColumnScaling measure(const SparseMatrix& features) {
  std::vector<double> squares(features.cols), counts(features.cols);
  for (size_t e = 0; e < features.nonzeros(); ++e) {
    double v = features.values[e];
    squares[features.columns[e]] += v * v;
    counts[features.columns[e]] += 1;
  }
  ColumnScaling scaling{{}, std::vector<double>(features.cols, 1.0)};
  for (size_t c = 0; c < features.cols; ++c)
    if (squares[c] > 0) scaling.scale[c] = std::sqrt(counts[c] / squares[c]);
  return scaling;
}

float scaled_value(float value, const ColumnScaling& scaling, size_t column) {
  double mean = scaling.mean.empty() ? 0.0 : scaling.mean[column];
  return static_cast<float>((value - mean) * scaling.scale[column]);
}

}  // namespace

ColumnScaling measure_rows(std::span<const float> rows, size_t width) {
  if (width == 0) return {};
  return measure(rows.size() / width, width,
                 [&](size_t r, size_t c) { return rows[r * width + c]; });
}

Buffer<float> scaled_rows(std::span<const float> rows, const ColumnScaling& scaling,
                          MemoryTag tag) {
  size_t width = scaling.scale.size();
  require(width > 0 && rows.size() % width == 0, "{} values cannot be scaled by {} columns",
          rows.size(), width);
  Buffer<float> out(rows.size(), tag);
  parallel_for(rows.size() / width, kScaledRows, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r)
      for (size_t c = 0; c < width; ++c)
        out[r * width + c] = scaled_value(rows[r * width + c], scaling, c);
  });
  return out;
}

ColumnScaling measure_features(const Features& features) {
  if (const auto* sparse = std::get_if<SparseMatrix>(&features)) return measure(*sparse);
  const auto& dense = std::get<DenseFeatures>(features);
  return measure_rows(dense.values.span(), dense.cols);
}

Features scaled(const Features& features, const ColumnScaling& scaling) {
  if (scaling.scale.empty()) return features;
  require(scaling.scale.size() == feature_count(features),
          "the model was trained with {} features, and this data set has {}", scaling.scale.size(),
          feature_count(features));
  if (const auto* dense = std::get_if<DenseFeatures>(&features))
    return DenseFeatures{dense->rows, dense->cols,
                         scaled_rows(dense->values.span(), scaling, MemoryTag::features)};
  const auto& sparse = std::get<SparseMatrix>(features);
  if (!scaling.mean.empty()) return scaled(to_dense(sparse), scaling);
  Buffer<float> values(sparse.nonzeros(), MemoryTag::features);
  parallel_for(values.size(), kScaledRows * 16, [&](size_t begin, size_t end) {
    for (size_t e = begin; e < end; ++e)
      values[e] = scaled_value(sparse.values[e], scaling, sparse.columns[e]);
  });
  return SparseMatrix{sparse.rows, sparse.cols, sparse.offsets, sparse.columns, std::move(values)};
}

ColumnScaling measure_targets(const Labels& labels, std::span<const NodeId> nodes) {
  require(labels.task == Task::regression, "only targets of regression are scaled");
  return measure(nodes.size(), labels.outputs,
                 [&](size_t r, size_t c) { return labels.values[nodes[r] * labels.outputs + c]; });
}

Labels scaled(const Labels& labels, const ColumnScaling& scaling) {
  if (scaling.scale.empty()) return labels;
  return {labels.task, labels.outputs, labels.classes,
          scaled_rows(labels.values.span(), scaling, MemoryTag::other)};
}

void unscale(MatrixView predictions, const ColumnScaling& scaling) {
  if (scaling.scale.empty()) return;
  for (size_t r = 0; r < predictions.rows; ++r)
    for (size_t c = 0; c < predictions.cols; ++c)
      predictions(r, c) =
          static_cast<float>(predictions(r, c) / scaling.scale[c] + scaling.mean[c]);
}

}  // namespace spex
