// Features as JSON: {"node": [feature ids], ..}, or a list of such lists; or rows of numbers in
// their place.
#include <fmt/core.h>
#include <spex/core/log.h>

#include <algorithm>
#include <cmath>
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

bool repeats(const nlohmann::json& list) {
  std::vector<double> values;
  for (const auto& entry : list)
    if (entry.is_number()) values.push_back(entry.get<double>());
  std::sort(values.begin(), values.end());
  return std::adjacent_find(values.begin(), values.end()) != values.end();
}

// Lists of one length are rows of numbers if there is a fraction, or if most say a number
// twice: a list of ids has no reason to.
bool are_rows(const nlohmann::json& root) {
  size_t length = root.empty() || !root.begin()->is_array() ? 0 : root.begin()->size();
  size_t repeating = 0;
  bool fraction = false;
  for (const auto& list : root) {
    if (!list.is_array() || list.size() != length || length == 0) return false;
    for (const auto& entry : list) {
      if (!entry.is_number() && !entry.is_null()) return false;
      fraction |= entry.is_number_float() || entry.is_null();
    }
    repeating += repeats(list);
  }
  return fraction || 2 * repeating > root.size();
}

void append_row(FeatureTable& table, const nlohmann::json& list, const std::string& node,
                const JsonFile& file) {
  for (const auto& entry : list) {
    float value = entry.is_null() ? NAN : entry.get<float>();
    if (std::isinf(value)) file.refuse(fmt::format("a feature of node {} is not finite", node));
    table.values.push_back(value);
  }
  table.cols = list.size();
  ++table.rows;
}

}  // namespace

FeatureTable read_feature_lists(const JsonFile& file, NodeIds& ids) {
  FeatureTable table;
  table.lists = !are_rows(file.root);
  table.offsets.push_back(0);
  table.has_ids = file.root.is_object();
  if (!table.has_ids && !file.root.is_array())
    file.refuse("expected an object of node ids, or a list, with lists of feature ids");
  if (!table.lists)
    log("{}: its lists are rows of numbers, not ids of features", file.path.string());
  std::unordered_set<NodeId> seen;
  for (const auto& [key, list] : file.root.items()) {
    if (table.has_ids) {
      if (!ids.add(key, table.ids.emplace_back())) file.refuse(ids.refusal(key));
      if (!seen.insert(table.ids.back()).second)
        file.refuse(fmt::format("node {} comes a second time", shown(key)));
    }
    (table.lists ? append_list : append_row)(table, list, shown(key), file);
  }
  return table;
}

}  // namespace spex
