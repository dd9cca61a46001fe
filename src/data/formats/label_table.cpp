#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/log.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/formats/label_values.h"
#include "data/formats/table_facts.h"
#include "data/formats/tables.h"

namespace spex {
namespace {

void log_choice(size_t label, const std::vector<size_t>& possible, const CsvReader& csv) {
  constexpr size_t kShown = 5;
  std::vector<std::string> others;
  for (size_t c : possible)
    if (c != label && others.size() < kShown) others.push_back(csv.columns()[c]);
  if (others.empty())
    log("{}: the labels are column '{}'", csv.path().string(), csv.columns()[label]);
  else
    log("{}: the labels are taken from column '{}', but {} could be meant; choose with "
        "--label-column",
        csv.path().string(), csv.columns()[label], fmt::join(others, ", "));
}

// Columns whose values can be told apart and come again. If some of them are text, only those: a
// class has a name more often than a feature has.
std::vector<size_t> columns_of_few_values(const TableFacts& facts,
                                          const std::vector<size_t>& columns) {
  std::vector<size_t> few, text;
  for (size_t c : columns) {
    if (!facts.is_category(c) || facts.columns[c].values.size() < 2) continue;
    few.push_back(c);
    if (facts.columns[c].texts > 0) text.push_back(c);
  }
  return text.empty() ? few : text;
}

// By name; else the only column beside the ids; else, of those that have few values, the one whose
// values come most equally often, wherever it stands: a flag that few rows have is no class.
// Numbers without a header: the last.
size_t choose_label(const TableFacts& facts, const CsvReader& csv, const std::string& wanted,
                    size_t id_column) {
  if (!wanted.empty()) return find_column(csv, wanted);
  std::vector<size_t> all, named;
  for (size_t c = 0; c < facts.columns.size(); ++c) {
    const std::string& name = facts.columns[c].name;
    if (c == id_column || (facts.has_header && is_index_name(name))) continue;
    all.push_back(c);
    bool names_nodes = facts.columns[c].unique && facts.columns[c].texts > 0;
    if (facts.has_header && is_label_name(name) && !names_nodes) named.push_back(c);
  }
  require(!all.empty(), "{} has no column of labels beside the ids", csv.path().string());
  if (named.size() == 1) return named[0];
  if (all.size() == 1) return all[0];
  std::vector<size_t> possible = named.empty() ? columns_of_few_values(facts, all) : named;
  require(!possible.empty(),
          "{}: none of its columns is called label; choose with --label-column: {}",
          csv.path().string(), fmt::join(csv.columns(), ", "));
  auto rarer = [&](size_t a, size_t b) {
    return facts.columns[a].evenness() < facts.columns[b].evenness();
  };
  bool by_values = facts.has_header || facts.columns[possible.front()].texts > 0;
  size_t label =
      by_values ? *std::max_element(possible.begin(), possible.end(), rarer) : possible.back();
  log_choice(label, possible, csv);
  return label;
}

void check_label(const TableFacts& table, size_t column, const CsvReader& csv, LabelTask task) {
  if (task == LabelTask::classes) return;
  const ColumnFacts& facts = table.columns[column];
  check_commas(facts.commas, csv, facts.name);
  require(facts.numbers == 0 || facts.texts == 0 || table.is_category(column),
          "{}: the column '{}' holds numbers and text, and few values come again; leave the fields "
          "without a label empty, or choose another column with --label-column",
          csv.path().string(), facts.name);
  require(
      facts.dates <= facts.numbers + facts.texts,
      "{}: the column '{}' holds dates, which are no labels; choose another with --label-column, "
      "or say --task classes",
      csv.path().string(), facts.name);
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

// A code such as 007 is a name: as a number it would be the same as 7. So is one of more digits than
// numbers keep.
bool is_code(std::string_view text) {
  constexpr size_t kExactDigits = 15;
  bool digits = text.find_first_not_of("0123456789") == std::string_view::npos;
  return digits && text.size() > 1 && (text[0] == '0' || text.size() > kExactDigits);
}

bool all_numbers(const LabelTable& table, std::vector<double>& targets, const std::string& where) {
  bool finite = true;
  for (const std::string& value : table.values) {
    double& target = targets.emplace_back(std::numeric_limits<double>::quiet_NaN());
    if (value.empty()) continue;
    if (is_code(value) || !parse_number(value, target)) return false;
    finite = finite && std::isfinite(target);
  }
  require(finite, "{}: a label is not a finite number", where);
  return true;
}

// The label as later code parses it: a decimal comma becomes a point.
std::string label_text(std::string_view field, bool decimal_comma) {
  std::string text(trim(field));
  if (is_missing(text)) return "";
  float value = 0;
  if (decimal_comma && !parse_number(text, value) && parse_number(text, value, true))
    std::replace(text.begin(), text.end(), ',', '.');
  return text;
}

}  // namespace

LabelTable read_label_table(const TextFile& file, const ReadOptions& options, NodeIds& ids) {
  TableFacts facts = look_at(file, ids);
  CsvReader csv(file);
  LabelTable table;
  size_t id_column = choose_id_column(facts, csv, options, true);
  size_t label_column = choose_label(facts, csv, options.label_column, id_column);
  table.column = csv.columns()[label_column];
  check_label(facts, label_column, csv, options.task);
  table.has_ids = id_column != kNoColumn;
  std::unordered_set<NodeId> seen;
  std::vector<std::string_view> fields;
  while (csv.next(fields)) {
    table.values.push_back(label_text(fields[label_column], csv.decimal_comma()));
    if (table.has_ids) table.ids.push_back(read_row_id(csv, fields[id_column], ids, seen));
  }
  return table;
}

void place_labels(Draft& draft, const LabelTable& table, LabelTask task,
                  const std::filesystem::path& path) {
  require(table.has_ids || table.values.size() == draft.nodes, "{}: {} labels for {} nodes",
          path.string(), table.values.size(), draft.nodes);
  std::string where = fmt::format("{}, column '{}'", path.string(), table.column);
  std::vector<double> numbers;
  if (all_numbers(table, numbers, where))
    set_number_labels(draft, by_node(table, numbers, draft.nodes, double{kMissing}), task, where);
  else
    set_text_labels(draft, by_node(table, table.values, draft.nodes, std::string()), task, where);
}

}  // namespace spex
