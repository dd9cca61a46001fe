#include <spex/core/threads.h>
#include <spex/train/ground.h>

#include <algorithm>
#include <cstring>

namespace spex {
namespace {

Matrix gather_dense(const DenseFeatures& features, std::span<const NodeId> nodes) {
  Matrix rows(nodes.size(), features.cols, MemoryTag::features);
  parallel_for(nodes.size(), 512, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      std::memcpy(rows.view().row(i), features.view().row(nodes[i]), features.cols * sizeof(float));
  });
  return rows;
}

SparseMatrix gather_sparse(const SparseMatrix& features, std::span<const NodeId> nodes) {
  Buffer<uint64_t> offsets(nodes.size() + 1, MemoryTag::features);
  offsets[0] = 0;
  for (size_t i = 0; i < nodes.size(); ++i)
    offsets[i + 1] = offsets[i] + features.offsets[nodes[i] + 1] - features.offsets[nodes[i]];
  Buffer<uint32_t> columns(offsets[nodes.size()], MemoryTag::features);
  Buffer<float> values(offsets[nodes.size()], MemoryTag::features);
  parallel_for(nodes.size(), 512, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      size_t first = features.offsets[nodes[i]];
      size_t count = offsets[i + 1] - offsets[i];
      std::copy_n(features.columns.begin() + first, count, columns.begin() + offsets[i]);
      std::copy_n(features.values.begin() + first, count, values.begin() + offsets[i]);
    }
  });
  return {nodes.size(), features.cols, std::move(offsets), std::move(columns), std::move(values)};
}

}  // namespace

BatchFeatures::BatchFeatures(const Features& features, std::span<const NodeId> nodes)
    : is_sparse_(std::holds_alternative<SparseMatrix>(features)) {
  if (is_sparse_)
    sparse_ = gather_sparse(std::get<SparseMatrix>(features), nodes);
  else
    dense_ = gather_dense(std::get<DenseFeatures>(features), nodes);
}

ModelInput BatchFeatures::input() const {
  return is_sparse_ ? ModelInput{{}, &sparse_} : ModelInput{dense_.view(), nullptr};
}

Graphs Ground::graphs() const {
  Graphs graphs;
  if (attention.nodes() > 0) {
    graphs.attention = &attention;
    graphs.transposed = &transposed;
  }
  if (local.nodes() > 0) graphs.local = &local;
  return graphs;
}

ModelInput whole_input(const Features& features) {
  if (const auto* sparse = std::get_if<SparseMatrix>(&features)) return {{}, sparse};
  return {std::get<DenseFeatures>(features).view(), nullptr};
}

}  // namespace spex
