#include "data/formats/columns.h"

#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/log.h>

#include <algorithm>

namespace spex {
namespace {

size_t position_of(const std::vector<std::string>& columns, const std::string& wanted) {
  auto found = std::find(columns.begin(), columns.end(), wanted);
  if (found != columns.end()) return static_cast<size_t>(found - columns.begin());
  int64_t number = 0;
  bool by_number =
      parse_number(wanted, number) && number >= 1 && number <= static_cast<int64_t>(columns.size());
  return by_number ? static_cast<size_t>(number - 1) : kNoColumn;
}

// The ends by place: the first two columns, where those that number or describe edges do not count.
void fill_by_place(EdgeColumns& ends, const CsvReader& csv) {
  const auto& names = csv.columns();
  for (bool strict : {true, false})
    for (size_t c = 0; c < names.size(); ++c) {
      bool describes = is_index_name(names[c]) || is_side_name(names[c]);
      if (c == ends.source || c == ends.target || (strict && describes)) continue;
      if (ends.source == kNoColumn)
        ends.source = c;
      else if (ends.target == kNoColumn)
        ends.target = c;
    }
}

// An index, or the edge's own id: it tells edges apart, and says nothing about them.
bool numbers_edges(const CsvReader& csv, size_t column) {
  const std::string& name = csv.columns()[column];
  if (is_index_name(name)) return true;
  bool id = csv.has_header() && is_edge_id_name(name);
  if (id) log("{}: the column '{}' is the edges' own id and left out", csv.path().string(), name);
  return id;
}

void find_by_name(EdgeColumns& ends, const CsvReader& csv) {
  auto [source, target] = find_ends(csv.columns());
  if (ends.source == kNoColumn && source != ends.target) ends.source = source;
  if (ends.target == kNoColumn && target != ends.source) ends.target = target;
  bool one_of_two = (ends.source == kNoColumn) != (ends.target == kNoColumn);
  require(!one_of_two || csv.columns().size() == 2,
          "{}: only one end of its edges has a name that tells it; name the other with "
          "--source-column or --target-column (columns: {})",
          csv.path().string(), fmt::join(csv.columns(), ", "));
}

}  // namespace

size_t find_column(const CsvReader& csv, const std::string& wanted) {
  size_t found = position_of(csv.columns(), wanted);
  require(found != kNoColumn, "{} has no column '{}'; it has: {}", csv.path().string(), wanted,
          fmt::join(csv.columns(), ", "));
  return found;
}

bool has_column(const CsvReader& csv, const std::string& wanted) {
  return position_of(csv.columns(), wanted) != kNoColumn;
}

EdgeColumns choose_edge_columns(const CsvReader& csv, const ReadOptions& options) {
  size_t count = csv.columns().size();
  require(
      count >= 2,
      "{}: one field in its first row, expected the two ends of an edge with a comma, semicolon, "
      "bar, tab or spaces between",
      csv.path().string());
  EdgeColumns ends{kNoColumn, kNoColumn, false, {}};
  if (!options.source_column.empty()) ends.source = find_column(csv, options.source_column);
  if (!options.target_column.empty()) ends.target = find_column(csv, options.target_column);
  require(ends.source != ends.target || ends.source == kNoColumn,
          "{}: source and target are the same column", csv.path().string());
  if (ends.source == kNoColumn || ends.target == kNoColumn) find_by_name(ends, csv);
  ends.known = ends.source != kNoColumn && ends.target != kNoColumn;
  fill_by_place(ends, csv);
  if (!options.weight_column.empty()) {
    ends.others = {find_column(csv, options.weight_column)};
    require(ends.others[0] != ends.source && ends.others[0] != ends.target,
            "{}: the weight is also an end of the edge", csv.path().string());
  } else {
    for (size_t c = 0; c < count; ++c)
      if (c != ends.source && c != ends.target && !numbers_edges(csv, c)) ends.others.push_back(c);
  }
  if (count > 2 || csv.has_header())
    log("{}: edges go from '{}' to '{}'", csv.path().string(), csv.columns()[ends.source],
        csv.columns()[ends.target]);
  return ends;
}

}  // namespace spex
