#include "data/formats/edge_columns.h"

#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/log.h>

#include <algorithm>
#include <cmath>

#include "data/formats/fields.h"
#include "data/formats/table_facts.h"
#include "data/formats/tables.h"

namespace spex {
namespace {

constexpr size_t kEdgesLookedAt = 1000;

}  // namespace

EdgeValueColumns::EdgeValueColumns(const TextFile& file, const std::vector<size_t>& columns)
    : file_(file.path.string()) {
  CsvReader csv(file);
  for (size_t c : columns)
    columns_.push_back({.place = c, .name = csv.columns()[c], .categories = {}});
  std::vector<size_t> numbers(columns.size()), texts(columns.size()), dates(columns.size());
  std::vector<CommaNumbers> commas(columns.size());
  std::vector<std::string_view> fields;
  for (size_t row = 0; row < kEdgesLookedAt && csv.next(fields); ++row)
    for (size_t i = 0; i < columns.size(); ++i) {
      FieldKind kind = kind_of(fields[columns[i]], csv.decimal_comma());
      numbers[i] += kind == FieldKind::number;
      texts[i] += kind == FieldKind::text;
      dates[i] += kind == FieldKind::date;
      commas[i].take(fields[columns[i]]);
    }
  for (size_t i = 0; i < columns.size(); ++i) {
    Column& column = columns_[i];
    check_commas(commas[i], csv, column.name);
    column.text = texts[i] > numbers[i];
    column.left_out = numbers[i] + texts[i] == 0 || dates[i] > numbers[i] + texts[i];
    if (column.left_out)
      log("{}: the column '{}' holds {} and is left out", file_, column.name,
          dates[i] > 0 ? "dates" : "nothing");
  }
  std::erase_if(columns_, [](const Column& column) { return column.left_out; });
}

void EdgeValueColumns::take(const std::vector<std::string_view>& fields, const CsvReader& csv) {
  for (Column& column : columns_) {
    std::string_view field = fields[column.place];
    float value = kMissing;
    if (is_missing(field) || column.left_out) {
    } else if (column.text) {
      value = category(column, trim(field));
    } else if (!parse_number(field, value, csv.decimal_comma()) || !std::isfinite(value)) {
      csv.refuse(fmt::format("{} in {} is not a finite number", shown(field), column.name));
    }
    values_.push_back(value);
  }
}

float EdgeValueColumns::category(Column& column, std::string_view field) {
  auto& known = column.categories;
  auto found = std::find(known.begin(), known.end(), field);
  if (found == known.end()) {
    column.left_out = known.size() == kFewValues;
    if (column.left_out) {
      log("{}: the column '{}' holds free text and is left out", file_, column.name);
      return kMissing;
    }
    found = known.insert(known.end(), std::string(field));
  }
  return static_cast<float>(found - known.begin());
}

size_t EdgeValueColumns::finish(Growing<float>& values) {
  if (columns_.empty()) return 0;
  size_t edges = values_.size() / columns_.size();
  bool plain = std::none_of(columns_.begin(), columns_.end(),
                            [](const Column& column) { return column.text; });
  size_t width = columns_.size();
  if (plain)
    values = std::move(values_);
  else
    width = spread(values, edges);
  width = fill_missing(values, edges, width);
  std::vector<std::string> names;
  for (const Column& column : columns_)
    if (!column.left_out) names.push_back(column.name);
  if (width > 0)
    log("{}: an edge has {} feature{}, from {}", file_, width, width == 1 ? "" : "s",
        fmt::join(names, ", "));
  return width;
}

// Text columns become a column per value, in sorted order.
size_t EdgeValueColumns::spread(Growing<float>& values, size_t edges) const {
  std::vector<std::vector<size_t>> places;  // of each category, among the column's
  size_t width = 0;
  for (const Column& column : columns_) {
    std::vector<std::string> sorted = column.categories;
    std::sort(sorted.begin(), sorted.end());
    auto& place = places.emplace_back();
    for (const std::string& name : column.categories)
      place.push_back(width +
                      static_cast<size_t>(std::lower_bound(sorted.begin(), sorted.end(), name) -
                                          sorted.begin()));
    width += column.left_out ? 0 : column.text ? sorted.size() : 1;
    if (!column.text) place.push_back(width - 1);
  }
  values.resize(edges * width);
  for (size_t e = 0; e < edges; ++e)
    for (size_t c = 0; c < columns_.size(); ++c) {
      float value = values_[e * columns_.size() + c];
      if (columns_[c].left_out || (columns_[c].text && std::isnan(value))) continue;
      size_t place = places[c][columns_[c].text ? static_cast<size_t>(value) : 0];
      values[e * width + place] = columns_[c].text ? 1.0F : value;
    }
  return width;
}

}  // namespace spex
