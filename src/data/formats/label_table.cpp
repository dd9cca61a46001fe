#include <spex/core/error.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_set>

#include "data/formats/columns.h"
#include "data/formats/tables.h"

namespace spex {
namespace {

size_t choose_column(const CsvReader& csv, const std::string& wanted, size_t id_column) {
  const auto& columns = csv.columns();
  if (!wanted.empty()) return find_column(csv, wanted);
  for (const char* name : {"label", "labels", "class", "target", "y"})
    for (size_t c = 0; c < columns.size(); ++c)
      if (columns[c] == name && c != id_column) return c;
  if (columns.size() - 1 == id_column)
    fail("{} has no column of labels beside the ids", csv.path().string());
  return columns.size() - 1;
}

// Places values[row] at its node; nodes that no row names keep `missing`.
template <class T>
std::vector<T> by_node(const LabelTable& table, const std::vector<T>& values, size_t nodes,
                       T missing) {
  std::vector<T> placed(nodes, missing);
  for (size_t row = 0; row < values.size(); ++row)
    placed[table.has_ids ? table.ids[row] : row] = values[row];
  return placed;
}

bool all_whole(const LabelTable& table, std::vector<int64_t>& classes) {
  for (const std::string& value : table.values)
    if (!parse_number(value, classes.emplace_back(-1)) && !value.empty()) return false;
  return true;
}

bool all_numbers(const LabelTable& table, std::vector<float>& targets) {
  for (const std::string& value : table.values)
    if (!parse_number(value, targets.emplace_back(std::numeric_limits<float>::quiet_NaN())) &&
        !value.empty())
      return false;
  return true;
}

std::vector<int64_t> number_names(const LabelTable& table, std::vector<std::string>& names) {
  std::map<std::string, int64_t> numbers;
  for (const std::string& value : table.values)
    if (!value.empty()) numbers[value] = 0;
  for (auto& [name, number] : numbers) {
    number = static_cast<int64_t>(names.size());
    names.push_back(name);
  }
  std::vector<int64_t> classes;
  for (const std::string& value : table.values)
    classes.push_back(value.empty() ? -1 : numbers[value]);
  return classes;
}

}  // namespace

LabelTable read_label_table(CsvReader csv, const std::string& column, NodeIds& ids) {
  LabelTable table;
  size_t id_column = find_id_column(csv, csv.columns().size() > 1);
  size_t label_column = choose_column(csv, column, id_column);
  table.has_ids = id_column != kNoColumn;
  std::unordered_set<uint64_t> seen;
  std::vector<std::string_view> fields;
  while (csv.next(fields)) {
    table.values.emplace_back(trim(fields[label_column]));
    if (table.has_ids) table.ids.push_back(read_row_id(csv, fields[id_column], ids, seen));
  }
  return table;
}

void place_labels(Draft& draft, const LabelTable& table, const std::filesystem::path& path) {
  require(table.has_ids || table.values.size() == draft.nodes, "{}: {} labels for {} nodes",
          path.string(), table.values.size(), draft.nodes);
  std::vector<int64_t> classes;
  std::vector<float> targets;
  if (all_whole(table, classes)) {
    draft.labels = class_labels(by_node(table, classes, draft.nodes, int64_t{-1}), path);
  } else if (all_numbers(table, targets)) {
    constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();
    draft.labels = {Task::regression, 1, {}, share(by_node(table, targets, draft.nodes, kMissing))};
  } else {
    classes = number_names(table, draft.class_names);
    draft.labels = class_labels(by_node(table, classes, draft.nodes, int64_t{-1}), path);
  }
}

}  // namespace spex
