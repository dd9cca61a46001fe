#include "data/formats/matrix_market.h"

#include <spex/core/error.h>

#include <cmath>

namespace spex {
namespace {

constexpr std::string_view kBanner = "%%matrixmarket";

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  for (size_t i = 0; i < line.size();) {
    size_t begin = line.find_first_not_of(" \t", i);
    if (begin == std::string_view::npos) break;
    i = std::min(line.find_first_of(" \t", begin), line.size());
    found.push_back(line.substr(begin, i - begin));
  }
  return found;
}

struct Banner {
  bool pattern = false;    // entries without values
  bool symmetric = false;  // one triangle is listed
};

Banner read_banner(LineReader& lines) {
  std::string_view line;
  lines.next(line);
  std::string lower = lower_case(line);
  auto parts = words(lower);
  if (parts.size() != 5 || parts[1] != "matrix" || parts[2] != "coordinate")
    lines.refuse("expected '%%MatrixMarket matrix coordinate TYPE SYMMETRY': a sparse matrix");
  if (parts[3] == "complex") lines.refuse("its values are complex, expected real numbers");
  if (parts[3] != "pattern" && parts[3] != "real" && parts[3] != "integer")
    lines.refuse(fmt::format("its type is {}, expected pattern, real or integer", parts[3]));
  if (parts[4] != "general" && parts[4] != "symmetric")
    lines.refuse(fmt::format("the matrix is {}, expected general or symmetric", parts[4]));
  return {parts[3] == "pattern", parts[4] == "symmetric"};
}

// The next line that says something.
bool next_entry(LineReader& lines, std::vector<std::string_view>& fields) {
  std::string_view line;
  while (lines.next(line)) {
    if (line.starts_with('%')) continue;
    fields = words(line);
    if (!fields.empty()) return true;
  }
  return false;
}

int64_t read_whole(const LineReader& lines, std::string_view field, int64_t most) {
  int64_t value = 0;
  if (!parse_number(field, value) || value < 1 || value > most)
    lines.refuse(fmt::format("{} is not a whole number from 1 to {}", shown(field), most));
  return value;
}

void append_entry(EdgeTable& table, const std::vector<std::string_view>& fields,
                  const Banner& banner, const LineReader& lines) {
  if (fields.size() != 2 + table.width)
    lines.refuse(fmt::format("{} fields, expected {}", fields.size(), 2 + table.width));
  auto nodes = static_cast<int64_t>(table.declared_nodes);
  auto row = static_cast<NodeId>(read_whole(lines, fields[0], nodes) - 1);
  auto column = static_cast<NodeId>(read_whole(lines, fields[1], nodes) - 1);
  float value = 0;
  if (!banner.pattern && (!parse_number(fields[2], value) || !std::isfinite(value)))
    lines.refuse(fmt::format("{} is not a finite number", shown(fields[2])));
  for (bool reverse : {false, true}) {
    if (reverse && (!banner.symmetric || row == column)) break;
    table.sources.push_back(reverse ? column : row);
    table.targets.push_back(reverse ? row : column);
    if (!banner.pattern) table.values.push_back(value);
  }
}

}  // namespace

bool is_matrix_market(const TextFile& file) {
  return lower_case(file.head(kBanner.size())).starts_with(kBanner);
}

EdgeTable read_matrix_market(const TextFile& file) {
  LineReader lines(file);
  Banner banner = read_banner(lines);
  std::vector<std::string_view> fields;
  bool sized = next_entry(lines, fields);
  if (!sized || fields.size() != 3) lines.refuse("expected rows, columns and entries");
  constexpr int64_t kMostNodes = UINT32_MAX - 1;
  int64_t nodes = read_whole(lines, fields[0], kMostNodes);
  if (read_whole(lines, fields[1], kMostNodes) != nodes)
    lines.refuse("the matrix is not square, so it is no graph");
  int64_t entries = 0;
  if (!parse_number(fields[2], entries)) lines.refuse("the number of entries is no number");
  // A size is a claim: a short file cannot ask for a graph of billions of empty rows.
  if (nodes > (int64_t{1} << 20) && static_cast<uint64_t>(nodes) / 64 > file.bytes.size())
    lines.refuse(
        fmt::format("{} nodes are more than its {} bytes can describe", nodes, file.bytes.size()));
  EdgeTable table;
  table.declared_nodes = static_cast<size_t>(nodes);
  table.width = banner.pattern ? 0 : 1;
  int64_t read = 0;
  for (; next_entry(lines, fields); ++read) append_entry(table, fields, banner, lines);
  require(read == entries, "{}: {} entries, but its second line announces {}", file.path.string(),
          read, entries);
  return table;
}

}  // namespace spex
