#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "data/formats/tables.h"

namespace spex {
namespace {

// The first two fields of a line, without looking at the rest of it. False if there is only one.
bool first_two(std::string_view line, char delimiter, std::string_view& a, std::string_view& b) {
  if (delimiter == ' ') line = trim(line);
  size_t end = line.find(delimiter);
  if (end == std::string_view::npos) return false;
  a = line.substr(0, end);
  line.remove_prefix(end + 1);
  if (delimiter == ' ') line = trim(line);
  b = line.substr(0, line.find(delimiter));
  return true;
}

}  // namespace

EdgeTable read_edge_table(CsvReader csv, NodeIds& ids) {
  constexpr size_t kBytesPerEdge = 12;  // a guess; too small a reservation only costs a copy
  EdgeTable table;
  table.sources.reserve(csv.bytes() / kBytesPerEdge);
  table.targets.reserve(csv.bytes() / kBytesPerEdge);
  std::vector<std::string_view> fields;
  std::string_view line, source, target;
  while (csv.next_line(line)) {
    if (!first_two(line, csv.delimiter(), source, target))
      csv.refuse("one field, expected the two ends of an edge");
    if (source.starts_with('"') || target.starts_with('"')) {
      csv.split(line, fields);
      if (fields.size() < 2) csv.refuse("one field, expected the two ends of an edge");
      source = fields[0];
      target = fields[1];
    }
    uint64_t from = 0, to = 0;
    if (!ids.add(source, from))
      csv.refuse(fmt::format("the node id {} is not {}", shown(source), ids.expected()));
    if (!ids.add(target, to))
      csv.refuse(fmt::format("the node id {} is not {}", shown(target), ids.expected()));
    table.sources.push_back(from);
    table.targets.push_back(to);
  }
  return table;
}

}  // namespace spex
