#include <spex/core/error.h>
#include <spex/core/log.h>

#include <algorithm>
#include <cmath>

#include "data/formats/fields.h"
#include "data/formats/table_facts.h"
#include "data/formats/tables.h"

namespace spex {
namespace {

// How a column of the table becomes columns of features.
struct Encoding {
  size_t column = 0;
  std::vector<std::string> values;  // text: one column for each; empty: a number
  size_t width() const { return values.empty() ? 1 : values.size(); }
};

[[noreturn]] void refuse_column(const CsvReader& csv, const ColumnFacts& facts, const char* what) {
  fail("{}: the column '{}' holds {}; make numbers of it, or leave it out", csv.path().string(),
       facts.name, what);
}

// Mostly numbers: what is none of them is refused by its line, later.
bool is_numeric(const ColumnFacts& facts) {
  return facts.numbers > 0 && facts.numbers >= facts.texts + facts.dates;
}

std::vector<Encoding> choose_encodings(const TableFacts& facts, const CsvReader& csv,
                                       size_t id_column, const std::string& left_out) {
  std::vector<Encoding> encodings;
  for (size_t c = 0; c < facts.columns.size(); ++c) {
    const ColumnFacts& column = facts.columns[c];
    bool index = facts.has_header && is_index_name(column.name);
    if (c == id_column || index || (!left_out.empty() && column.name == left_out)) continue;
    check_commas(column.commas, csv, column.name);
    if (column.missing == facts.rows) {
      log("{}: the column '{}' is empty and left out", csv.path().string(), column.name);
    } else if (is_numeric(column)) {
      encodings.push_back({c, {}});
    } else if (column.dates > 0 && column.dates >= column.texts) {
      refuse_column(csv, column, "dates");
    } else if (!facts.is_category(c)) {
      refuse_column(csv, column, "free text");
    } else {
      auto& encoding = encodings.emplace_back();
      encoding.column = c;
      for (const auto& [value, count] : column.values) encoding.values.push_back(value);
      log("{}: the column '{}' becomes {} columns, one for each of its values", csv.path().string(),
          column.name, column.values.size());
    }
  }
  return encodings;
}

void append_number(Growing<float>& values, std::string_view field, size_t column,
                   const CsvReader& csv) {
  float value = kMissing;
  bool bad = !is_missing(field) &&
             (!parse_number(field, value, csv.decimal_comma()) || !std::isfinite(value));
  if (bad)
    csv.refuse(fmt::format("{} in {} is not a finite number", shown(field), csv.columns()[column]));
  values.push_back(value);
}

void append(Growing<float>& values, const Encoding& encoding, std::string_view field,
            const CsvReader& csv) {
  if (encoding.values.empty()) return append_number(values, field, encoding.column, csv);
  for (const std::string& value : encoding.values)
    values.push_back(trim(field) == value ? 1.0F : 0.0F);
}

}  // namespace

FeatureTable read_feature_table(const TextFile& file, const ReadOptions& options, NodeIds& ids,
                                const std::string& left_out) {
  TableFacts facts = look_at(file, ids);
  CsvReader csv(file);
  FeatureTable table;
  size_t id_column = choose_id_column(facts, csv, options, false);
  table.has_ids = id_column != kNoColumn;
  std::vector<Encoding> encodings = choose_encodings(facts, csv, id_column, left_out);
  for (const Encoding& encoding : encodings) table.cols += encoding.width();
  std::unordered_set<NodeId> seen;
  std::vector<std::string_view> fields;
  for (; csv.next(fields); ++table.rows) {
    if (table.has_ids) table.ids.push_back(read_row_id(csv, fields[id_column], ids, seen));
    for (const Encoding& encoding : encodings)
      append(table.values, encoding, fields[encoding.column], csv);
  }
  return table;
}

}  // namespace spex
