#include <spex/core/threads.h>
#include <spex/train/ground.h>

#include <algorithm>

namespace spex {
namespace {

constexpr size_t kRows = 1024;

Matrix dense_copy(const SparseMatrix& sparse) {
  Matrix dense = Matrix::zeros(sparse.rows, sparse.cols, MemoryTag::features);
  parallel_for(sparse.rows, kRows, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      for (uint64_t e = sparse.offsets[i]; e < sparse.offsets[i + 1]; ++e)
        dense(i, sparse.columns[e]) = sparse.values[e];
  });
  return dense;
}

}  // namespace

DenseFeatures hop_features(const Features& features, const AttentionGraph& local, size_t hops) {
  Tape tape(false);
  const auto* sparse = std::get_if<SparseMatrix>(&features);
  Var x = sparse ? tape.constant(dense_copy(*sparse))
                 : tape.constant(std::get<DenseFeatures>(features).view());
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
