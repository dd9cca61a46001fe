#include "data/draft.h"

#include <spex/core/error.h>
#include <spex/core/log.h>
#include <spex/core/threads.h>
#include <spex/data/feature_columns.h>
#include <spex/data/validate.h>
#include <spex/graph/builder.h>

#include <algorithm>

namespace spex {
namespace {

constexpr size_t kDraftRows = 4096;  // rows per block of a parallel loop

SparseMatrix to_sparse(std::span<const float> values, size_t rows, size_t cols, size_t nonzeros) {
  Buffer<uint64_t> offsets(rows + 1, MemoryTag::features);
  Buffer<uint32_t> columns(nonzeros, MemoryTag::features);
  Buffer<float> kept(nonzeros, MemoryTag::features);
  uint64_t end = 0;
  for (size_t row = 0; row < rows; ++row) {
    offsets[row] = end;
    for (size_t col = 0; col < cols; ++col) {
      float value = values[row * cols + col];
      if (value == 0.0F) continue;
      columns[end] = static_cast<uint32_t>(col);
      kept[end++] = value;
    }
  }
  offsets[rows] = end;
  return {rows, cols, std::move(offsets), std::move(columns), std::move(kept)};
}

bool stays_sparse(size_t nonzeros, size_t rows, size_t cols) {
  return cols >= kSparseFromCols &&
         static_cast<double>(nonzeros) < kSparseBelow * static_cast<double>(rows) * cols;
}

size_t count_nonzeros(std::span<const float> values) {
  return parallel_sum(values.size(), kDraftRows * 16, size_t{0}, [&](size_t b, size_t e) {
    return static_cast<size_t>(
        std::count_if(values.data() + b, values.data() + e, [](float v) { return v != 0.0F; }));
  });
}

std::string dataset_name(const std::filesystem::path& path) {
  auto clean = path.has_filename() ? path : path.parent_path();
  return clean.stem().string();
}

void log_cleaning(const Dataset& dataset) {
  const Cleaning& c = dataset.cleaning;
  if (c.duplicates_removed + c.self_loops_removed + c.edges_reversed == 0) return;
  log("{}: removed {} duplicate edges and {} self-loops, added {} reverse edges", dataset.source,
      c.duplicates_removed, c.self_loops_removed, c.edges_reversed);
}

}  // namespace

Dataset finish(Draft draft, const ReadOptions& options) {
  std::string where = draft.path.string();
  require(draft.nodes > 0, "{} has no nodes", where);
  require(!draft.sources.empty(), "{} has {} nodes but no edges", where, draft.nodes);
  Dataset dataset;
  dataset.name = dataset_name(draft.path);
  dataset.source = where;
  BuildOptions build{options.undirected, options.drop_duplicates, options.drop_self_loops};
  BuiltGraph built = build_csr(draft.nodes, draft.sources.span(), draft.targets.span(), build);
  dataset.graph = std::move(built.graph);
  if (draft.edge_width > 0) {
    dataset.edge_feature_count = draft.edge_width;
    dataset.edge_features =
        place_edge_values(dataset.graph, draft.sources.span(), draft.targets.span(),
                          draft.edge_values.span(), draft.edge_width, options.combine, build);
  }
  dataset.keys = std::move(draft.keys);
  dataset.cleaning = {built.report.duplicates_removed, built.report.self_loops_removed,
                      built.report.edges_reversed};
  dataset.features = std::move(draft.features);
  if (auto* dense = std::get_if<DenseFeatures>(&dataset.features); dense && dense->cols == 0)
    dense->rows = draft.nodes;
  dataset.labels = std::move(draft.labels);
  dataset.class_names = std::move(draft.class_names);
  dataset.splits = std::move(draft.splits);
  validate(dataset);
  log_cleaning(dataset);
  return dataset;
}

NodeId checked_id(int64_t id, size_t nodes, const std::filesystem::path& path,
                  const std::string& what) {
  require(id >= 0 && static_cast<uint64_t>(id) < nodes,
          "{}: {} names node {}, but nodes are 0 to {}", path.string(), what, id, nodes - 1);
  return static_cast<NodeId>(id);
}

Labels class_labels(std::span<const int64_t> classes, const std::filesystem::path& path) {
  Buffer<int32_t> values(classes.size(), MemoryTag::other);
  int64_t largest = -1;
  for (size_t i = 0; i < classes.size(); ++i) {
    require(classes[i] >= -1 && classes[i] < static_cast<int64_t>(classes.size()),
            "{}: the label of node {} is {}, expected a class from 0, or -1 for unknown",
            path.string(), i, classes[i]);
    largest = std::max(largest, classes[i]);
    values[i] = static_cast<int32_t>(classes[i]);
  }
  require(largest >= 0, "{}: no node has a label", path.string());
  return {Task::classes, static_cast<size_t>(largest + 1), std::move(values), {}};
}

bool mostly_zero(std::span<const float> values, size_t rows, size_t cols) {
  return stays_sparse(count_nonzeros(values), rows, cols);
}

Features pack_features(Buffer<float> values, size_t rows, size_t cols) {
  size_t nonzeros = count_nonzeros(values.span());
  if (stays_sparse(nonzeros, rows, cols)) return to_sparse(values.span(), rows, cols, nonzeros);
  return DenseFeatures{rows, cols, std::move(values)};
}

Features pack_features(SparseMatrix matrix) {
  if (stays_sparse(matrix.nonzeros(), matrix.rows, matrix.cols)) return matrix;
  return to_dense(matrix);
}

SharedArray<NodeId> nodes_in_mask(std::span<const uint8_t> mask) {
  std::vector<NodeId> nodes;
  for (size_t i = 0; i < mask.size(); ++i)
    if (mask[i] != 0) nodes.push_back(static_cast<NodeId>(i));
  return share(std::move(nodes));
}

}  // namespace spex
