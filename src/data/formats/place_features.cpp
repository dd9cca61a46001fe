// From the rows of a table, in the order of the file, to a matrix in the order of the nodes.
#include <spex/core/error.h>
#include <spex/core/log.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/formats/tables.h"

namespace spex {
namespace {

// Row of the table for each node, or -1.
std::vector<int64_t> rows_by_node(const FeatureTable& table, size_t nodes) {
  std::vector<int64_t> row_of(nodes, -1);
  for (size_t row = 0; row < table.rows; ++row)
    row_of[table.has_ids ? table.ids[row] : row] = static_cast<int64_t>(row);
  return row_of;
}

Features place_lists(const FeatureTable& table, size_t nodes) {
  Buffer<uint64_t> offsets(nodes + 1, MemoryTag::features);
  Buffer<uint32_t> columns(table.features.size(), MemoryTag::features);
  Buffer<float> values(table.features.size(), MemoryTag::features);
  std::fill(values.begin(), values.end(), 1.0F);
  std::vector<int64_t> row_of = rows_by_node(table, nodes);
  offsets[0] = 0;
  for (size_t node = 0; node < nodes; ++node) {
    offsets[node + 1] = offsets[node];
    if (row_of[node] < 0) continue;
    auto row = static_cast<size_t>(row_of[node]);
    uint64_t count = table.offsets[row + 1] - table.offsets[row];
    std::copy_n(table.features.data() + table.offsets[row], count, columns.data() + offsets[node]);
    offsets[node + 1] += count;
  }
  return pack_features(
      SparseMatrix{nodes, table.cols, std::move(offsets), std::move(columns), std::move(values)});
}

// The mean of the values that are there, per column.
std::vector<float> column_means(std::span<const float> values, size_t cols,
                                std::vector<size_t>& missing) {
  std::vector<double> sums(cols);
  std::vector<size_t> counts(cols);
  missing.assign(cols, 0);
  for (size_t i = 0; i < values.size(); ++i) {
    bool there = !std::isnan(values[i]);
    missing[i % cols] += !there;
    counts[i % cols] += there;
    sums[i % cols] += there ? values[i] : 0.0;
  }
  std::vector<float> means(cols);
  for (size_t c = 0; c < cols; ++c)
    means[c] = static_cast<float>(sums[c] / static_cast<double>(std::max<size_t>(1, counts[c])));
  return means;
}

}  // namespace

size_t fill_missing(Growing<float>& values, size_t rows, size_t cols) {
  if (cols == 0) return 0;
  std::vector<size_t> missing;
  std::vector<float> means = column_means(values.span(), cols, missing);
  std::vector<size_t> flagged;
  for (size_t c = 0; c < cols; ++c)
    if (missing[c] > 0) flagged.push_back(c);
  if (flagged.empty()) return cols;
  size_t wide = cols + flagged.size();
  values.resize(rows * wide);
  // From the last row, so that a row moves only over places that were read.
  for (size_t row = rows; row-- > 0;) {
    std::copy_backward(values.data() + row * cols, values.data() + (row + 1) * cols,
                       values.data() + row * wide + cols);
    float* place = values.data() + row * wide;
    for (size_t f = 0; f < flagged.size(); ++f)
      place[cols + f] = std::isnan(place[flagged[f]]) ? 1.0F : 0.0F;
    for (size_t c : flagged)
      if (std::isnan(place[c])) place[c] = means[c];
  }
  return wide;
}

Features place_features(const FeatureTable& table, size_t nodes,
                        const std::filesystem::path& path) {
  require(table.has_ids || table.rows == nodes, "{}: features of {} nodes, expected {}",
          path.string(), table.rows, nodes);
  if (table.lists) return place_lists(table, nodes);
  std::vector<int64_t> row_of = rows_by_node(table, nodes);
  Growing<float> rows;
  rows.assign(table.values.span().begin(), table.values.span().end());
  size_t wide = fill_missing(rows, table.rows, table.cols);
  if (wide > table.cols)
    log("{}: missing values in {} columns became their column's mean; {} columns were added that "
        "say where",
        path.string(), wide - table.cols, wide - table.cols);
  std::vector<size_t> unused;
  std::vector<float> means = column_means(rows.span(), std::max<size_t>(1, wide), unused);
  // Nodes without a row get the columns' means, and one column more says which they are.
  size_t out = wide + (table.rows < nodes && wide > 0 ? 1 : 0);
  if (out > wide)
    log("{}: {} nodes have no row; they get the columns' means, and a column was added that says "
        "so",
        path.string(), nodes - table.rows);
  Buffer<float> placed(nodes * out, MemoryTag::features);
  for (size_t node = 0; node < nodes; ++node) {
    float* place = placed.data() + node * out;
    const float* row =
        row_of[node] < 0 ? means.data() : rows.data() + static_cast<size_t>(row_of[node]) * wide;
    std::copy_n(row, wide, place);
    if (out > wide) place[wide] = row_of[node] < 0 ? 1.0F : 0.0F;
  }
  return pack_features(std::move(placed), nodes, out);
}

}  // namespace spex
