#include "data/formats/numeric_csv.h"

#include <spex/core/error.h>

#include <cmath>
#include <limits>

namespace spex {
namespace {

float read_value(const CsvReader& csv, std::string_view field, Missing missing) {
  float value = std::numeric_limits<float>::quiet_NaN();
  bool absent = missing == Missing::allowed && trim(field).empty();
  if (!absent && !parse_number(field, value))
    csv.refuse(fmt::format("{} is not a number", shown(field)));
  if (std::isinf(value) || (std::isnan(value) && missing == Missing::refused))
    csv.refuse(fmt::format("{} is not a finite number", shown(field)));
  return value;
}

NodeId read_id(const CsvReader& csv, std::string_view field, size_t nodes) {
  int64_t id = 0;
  if (!parse_number(field, id) || id < 0 || static_cast<uint64_t>(id) >= nodes)
    csv.refuse(fmt::format("{} is not a node id from 0 to {}", shown(field), nodes - 1));
  return static_cast<NodeId>(id);
}

}  // namespace

NumberTable read_numbers(CsvReader csv, Missing missing) {
  NumberTable table;
  table.cols = csv.columns().size();
  std::vector<std::string_view> fields;
  for (; csv.next(fields); ++table.rows)
    for (std::string_view field : fields) table.values.push_back(read_value(csv, field, missing));
  return table;
}

void for_number_rows(CsvReader csv, const std::function<void(std::span<const float>)>& row) {
  std::vector<std::string_view> fields;
  std::vector<float> values(csv.columns().size());
  while (csv.next(fields)) {
    for (size_t c = 0; c < fields.size(); ++c)
      values[c] = read_value(csv, fields[c], Missing::refused);
    row(values);
  }
}

void read_id_pairs(Draft& draft, CsvReader csv) {
  require(csv.columns().size() == 2, "{}: {} columns, expected the two ends of an edge",
          csv.path().string(), csv.columns().size());
  std::vector<std::string_view> fields;
  while (csv.next(fields)) {
    draft.sources.push_back(read_id(csv, fields[0], draft.nodes));
    draft.targets.push_back(read_id(csv, fields[1], draft.nodes));
  }
}

std::vector<int64_t> read_integers(CsvReader csv) {
  std::vector<int64_t> values;
  std::vector<std::string_view> fields;
  require(csv.columns().size() == 1, "{}: {} columns, expected one", csv.path().string(),
          csv.columns().size());
  while (csv.next(fields))
    if (!parse_number(fields[0], values.emplace_back()))
      csv.refuse(fmt::format("{} is not a whole number", shown(fields[0])));
  return values;
}

}  // namespace spex
