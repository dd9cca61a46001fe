#include "data/formats/columns.h"

#include <fmt/format.h>
#include <spex/core/error.h>

namespace spex {

size_t find_column(const CsvReader& csv, const std::string& wanted) {
  const auto& columns = csv.columns();
  for (size_t c = 0; c < columns.size(); ++c)
    if (columns[c] == wanted) return c;
  int64_t number = 0;
  if (parse_number(wanted, number) && number >= 1 && number <= static_cast<int64_t>(columns.size()))
    return static_cast<size_t>(number - 1);
  fail("{} has no column '{}'; it has: {}", csv.path().string(), wanted, fmt::join(columns, ", "));
}

size_t find_id_column(const CsvReader& csv, bool first_by_default) {
  if (!csv.has_header()) return first_by_default ? 0 : kNoColumn;
  for (const char* name : {"id", "node", "node_id", "name"})
    for (size_t c = 0; c < csv.columns().size(); ++c)
      if (csv.columns()[c] == name) return c;
  return kNoColumn;
}

uint64_t read_row_id(const CsvReader& csv, std::string_view field, NodeIds& ids,
                     std::unordered_set<uint64_t>& seen) {
  uint64_t id = 0;
  if (!ids.add(field, id))
    csv.refuse(fmt::format("the node id {} is not {}", shown(field), ids.expected()));
  if (!seen.insert(id).second) csv.refuse(fmt::format("node {} comes a second time", shown(field)));
  return id;
}

}  // namespace spex
