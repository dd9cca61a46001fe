// Features as JSON: {"node": [feature ids], ..}, or a list of such lists.
#include <fmt/core.h>

#include <algorithm>
#include <unordered_set>

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

}  // namespace

FeatureTable read_feature_lists(const JsonFile& file, NodeIds& ids) {
  FeatureTable table;
  table.lists = true;
  table.offsets.push_back(0);
  table.has_ids = file.root.is_object();
  if (!table.has_ids && !file.root.is_array())
    file.refuse("expected an object of node ids, or a list, with lists of feature ids");
  std::unordered_set<NodeId> seen;
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

}  // namespace spex
