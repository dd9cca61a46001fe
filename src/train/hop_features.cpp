#include <spex/core/threads.h>
#include <spex/train/ground.h>

#include <algorithm>

namespace spex {
namespace {

constexpr size_t kRows = 1024;

// The features, and behind them the columns of `extra`.
Matrix joined(const Features& features, ConstMatrixView extra) {
  size_t cols = feature_count(features);
  const auto* sparse = std::get_if<SparseMatrix>(&features);
  size_t nodes = sparse ? sparse->rows : std::get<DenseFeatures>(features).rows;
  Matrix x = Matrix::zeros(nodes, cols + extra.cols, MemoryTag::features);
  if (!sparse) copy(x.view().columns(0, cols), std::get<DenseFeatures>(features).view());
  if (extra.cols > 0) copy(x.view().columns(cols, extra.cols), extra);
  if (!sparse) return x;
  parallel_for(nodes, kRows, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      for (uint64_t e = sparse->offsets[i]; e < sparse->offsets[i + 1]; ++e)
        x(i, sparse->columns[e]) = sparse->values[e];
  });
  return x;
}

}  // namespace

DenseFeatures hop_features(const Features& features, ConstMatrixView extra,
                           const AttentionGraph& local, size_t hops) {
  Tape tape(false);
  const auto* dense = std::get_if<DenseFeatures>(&features);
  Var x = dense && extra.cols == 0 ? tape.constant(dense->view())
                                   : tape.constant(joined(features, extra));
  size_t nodes = x.rows(), each = x.cols(), all = each * (hops + 1);
  Buffer<float> values(nodes * all, MemoryTag::features);
  MatrixView out{values.data(), nodes, all, all};
  Neighbourhood neighbourhood = whole_neighbourhood({nullptr, nullptr, &local});
  for (size_t k = 0; k <= hops; ++k) {
    if (k > 0) x = neighbourhood.normalized_sum(tape, 0, x);
    parallel_for(nodes, kRows, [&](size_t begin, size_t end) {
      copy(out.columns(k * each, each).block(begin, end - begin),
           x.value().block(begin, end - begin));
    });
  }
  return {nodes, all, std::move(values)};
}

}  // namespace spex
