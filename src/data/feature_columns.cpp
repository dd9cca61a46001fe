#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/data/feature_columns.h>

#include <algorithm>
#include <limits>

namespace spex {
namespace {

constexpr size_t kCopiedRows = 1024;

Features beside(const DenseFeatures& given, ConstMatrixView columns) {
  size_t width = given.cols + columns.cols;
  Buffer<float> values(columns.rows * width, MemoryTag::features);
  parallel_for(columns.rows, kCopiedRows, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      if (given.cols > 0) std::copy_n(given.view().row(r), given.cols, &values[r * width]);
      std::copy_n(columns.row(r), columns.cols, &values[r * width + given.cols]);
    }
  });
  return DenseFeatures{columns.rows, width, std::move(values)};
}

// The rows of `given`, each followed by more.count values, at more.column(row, i) behind its
// columns.
template <class More>
SparseMatrix followed_by(const SparseMatrix& given, size_t cols, const More& more) {
  require(cols <= std::numeric_limits<uint32_t>::max(), "{} features are too many", cols);
  Buffer<uint64_t> offsets(given.rows + 1, MemoryTag::features);
  offsets[0] = 0;
  for (size_t r = 0; r < given.rows; ++r)
    offsets[r + 1] = offsets[r] + given.offsets[r + 1] - given.offsets[r] + more.count;
  Buffer<uint32_t> columns(offsets[given.rows], MemoryTag::features);
  Buffer<float> values(offsets[given.rows], MemoryTag::features);
  parallel_for(given.rows, kCopiedRows, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      size_t from = given.offsets[r], count = given.offsets[r + 1] - from, to = offsets[r];
      std::copy_n(given.columns.begin() + from, count, &columns[to]);
      std::copy_n(given.values.begin() + from, count, &values[to]);
      for (size_t i = 0; i < more.count; ++i) {
        columns[to + count + i] = static_cast<uint32_t>(given.cols + more.column(r, i));
        values[to + count + i] = more.value(r, i);
      }
    }
  });
  return {given.rows, cols, std::move(offsets), std::move(columns), std::move(values)};
}

struct MatrixRows {
  ConstMatrixView matrix;
  size_t count = matrix.cols;
  static size_t column(size_t, size_t i) { return i; }
  float value(size_t r, size_t i) const { return matrix(r, i); }
};

struct IdentityRows {
  size_t count = 1;
  static size_t column(size_t r, size_t) { return r; }
  static float value(size_t, size_t) { return 1.0F; }
};

SparseMatrix to_sparse(const DenseFeatures& given) {
  auto nonzero = [](float value) { return value != 0.0F; };
  Buffer<uint64_t> offsets(given.rows + 1, MemoryTag::features);
  offsets[0] = 0;
  const float* all = given.values.data();
  for (size_t r = 0; r < given.rows; ++r) {
    const float* row = all + r * given.cols;
    offsets[r + 1] =
        offsets[r] + static_cast<uint64_t>(std::count_if(row, row + given.cols, nonzero));
  }
  Buffer<uint32_t> columns(offsets[given.rows], MemoryTag::features);
  Buffer<float> values(offsets[given.rows], MemoryTag::features);
  size_t to = 0;
  for (size_t i = 0; i < given.rows * given.cols; ++i)
    if (nonzero(all[i])) {
      columns[to] = static_cast<uint32_t>(i % given.cols);
      values[to++] = all[i];
    }
  return {given.rows, given.cols, std::move(offsets), std::move(columns), std::move(values)};
}

}  // namespace

DenseFeatures to_dense(const SparseMatrix& sparse) {
  Buffer<float> values(sparse.rows * sparse.cols, MemoryTag::features);
  parallel_for(sparse.rows, kCopiedRows, [&](size_t begin, size_t end) {
    std::fill(&values[begin * sparse.cols], &values[end * sparse.cols], 0.0F);
    for (size_t r = begin; r < end; ++r)
      for (uint64_t e = sparse.offsets[r]; e < sparse.offsets[r + 1]; ++e)
        values[r * sparse.cols + sparse.columns[e]] = sparse.values[e];
  });
  return {sparse.rows, sparse.cols, std::move(values)};
}

Features with_columns(const Features& features, ConstMatrixView columns) {
  if (const auto* dense = std::get_if<DenseFeatures>(&features)) return beside(*dense, columns);
  const auto& sparse = std::get<SparseMatrix>(features);
  return followed_by(sparse, sparse.cols + columns.cols, MatrixRows{columns});
}

Features with_identity(const Features& features) {
  const auto* sparse = std::get_if<SparseMatrix>(&features);
  SparseMatrix given = sparse ? *sparse : to_sparse(std::get<DenseFeatures>(features));
  return followed_by(given, given.cols + given.rows, IdentityRows{});
}

}  // namespace spex
