#include <spex/core/error.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_set>

#include "data/formats/columns.h"
#include "data/formats/json_file.h"
#include "data/formats/tables.h"

namespace spex {
namespace {

constexpr uint64_t kMaxFeatureId = (uint64_t{1} << 24) - 1;  // the limit of validate.h

void append_list(FeatureTable& table, const nlohmann::json& list, const std::string& node,
                 const JsonFile& file) {
  if (!list.is_array()) file.refuse(fmt::format("the features of node {} are not a list", node));
  size_t begin = table.features.size();
  for (const auto& entry : list) {
    if (!entry.is_number_unsigned() || entry.get<uint64_t>() > kMaxFeatureId)
      file.refuse(
          fmt::format("the features of node {} are not ids from 0 to {}", node, kMaxFeatureId));
    table.features.push_back(entry.get<uint32_t>());
    table.cols = std::max<size_t>(table.cols, table.features.back() + size_t{1});
  }
  // A feature listed twice is still one.
  auto first = table.features.begin() + static_cast<std::ptrdiff_t>(begin);
  std::sort(first, table.features.end());
  table.features.erase(std::unique(first, table.features.end()), table.features.end());
  table.offsets.push_back(table.features.size());
  ++table.rows;
}

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

}  // namespace

FeatureTable read_feature_table(CsvReader csv, NodeIds& ids) {
  FeatureTable table;
  size_t id_column = find_id_column(csv, false);
  table.has_ids = id_column != kNoColumn;
  table.cols = csv.columns().size() - (table.has_ids ? 1 : 0);
  std::unordered_set<uint64_t> seen;
  std::vector<std::string_view> fields;
  while (csv.next(fields)) {
    ++table.rows;
    if (table.has_ids) table.ids.push_back(read_row_id(csv, fields[id_column], ids, seen));
    for (size_t c = 0; c < fields.size(); ++c) {
      if (c == id_column) continue;
      float& value = table.values.emplace_back();
      if (!parse_number(fields[c], value) || !std::isfinite(value))
        csv.refuse(
            fmt::format("{} in {} is not a finite number", shown(fields[c]), csv.columns()[c]));
    }
  }
  return table;
}

FeatureTable read_feature_lists(const JsonFile& file, NodeIds& ids) {
  FeatureTable table;
  table.lists = true;
  table.offsets.push_back(0);
  table.has_ids = file.root.is_object();
  if (!table.has_ids && !file.root.is_array())
    file.refuse("expected an object of node ids, or a list, with lists of feature ids");
  std::unordered_set<uint64_t> seen;
  for (const auto& [key, list] : file.root.items()) {
    if (table.has_ids) {
      if (!ids.add(key, table.ids.emplace_back()))
        file.refuse(fmt::format("the node id {} is not {}", shown(key), ids.expected()));
      if (!seen.insert(table.ids.back()).second)
        file.refuse(fmt::format("node {} comes a second time", shown(key)));
    }
    append_list(table, list, shown(key), file);
  }
  return table;
}

Features place_features(const FeatureTable& table, size_t nodes,
                        const std::filesystem::path& path) {
  require(table.rows == nodes || (table.lists && table.has_ids),
          "{}: features of {} nodes, expected {}", path.string(), table.rows, nodes);
  if (table.lists) return place_lists(table, nodes);
  Buffer<float> values(nodes * table.cols, MemoryTag::features);
  std::vector<int64_t> row_of = rows_by_node(table, nodes);
  for (size_t node = 0; node < nodes; ++node)
    std::copy_n(table.values.data() + static_cast<size_t>(row_of[node]) * table.cols, table.cols,
                values.data() + node * table.cols);
  return pack_features(std::move(values), nodes, table.cols);
}

}  // namespace spex
