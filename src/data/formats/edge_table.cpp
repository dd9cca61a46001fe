#include <spex/core/error.h>
#include <spex/core/log.h>
#include <spex/core/stopwatch.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "data/formats/columns.h"
#include "data/formats/edge_columns.h"
#include "data/formats/matrix_market.h"
#include "data/formats/tables.h"

namespace spex {
namespace {

// Says how far a long file is read, every few seconds.
class ReadProgress {
 public:
  explicit ReadProgress(const LineReader& lines) : lines_(lines) {}
  void edge() {
    if (++edges_ % kEdges == 0 && watch_.seconds() > next_) {
      next_ = watch_.seconds() + kSeconds;
      log("{}: {} million edges read, {:.0f}%", lines_.path().string(), edges_ / kMillion,
          100 * lines_.share_read());
    }
  }

 private:
  static constexpr size_t kMillion = 1'000'000, kEdges = 1 << 18;
  static constexpr double kSeconds = 5.0;
  const LineReader& lines_;
  Stopwatch watch_;
  double next_ = kSeconds;
  size_t edges_ = 0;
};

// The two fields of a line without quotes. False if there are not two.
bool split_pair(std::string_view line, char delimiter, std::string_view& a, std::string_view& b) {
  if (delimiter == ' ') line = trim(line);
  size_t end = line.find(delimiter);
  if (end == std::string_view::npos) return false;
  a = line.substr(0, end);
  b = line.substr(end + 1);
  if (delimiter == ' ') b = trim(b);
  return b.find(delimiter) == std::string_view::npos;
}

NodeId read_end(const CsvReader& csv, std::string_view field, NodeIds& ids) {
  NodeId id = 0;
  if (!ids.add(field, id)) csv.refuse(ids.refusal(field));
  return id;
}

// What other programs write around edges, and would otherwise be part of a name or an edge.
void check_first_row(const CsvReader& csv, std::string_view source, std::string_view target) {
  source = trim(source);
  target = trim(target);
  std::string_view open = "([{", close = ")]}";
  for (size_t i = 0; i < open.size(); ++i)
    if (source.starts_with(open[i]) && target.ends_with(close[i]))
      csv.refuse("an edge in brackets; leave them out, so that a line is two ids and no more");
  auto written_as_real = [](std::string_view field) {
    return without_zero_fraction(field).size() < field.size();
  };
  if (!csv.has_header() && written_as_real(source) != written_as_real(target))
    csv.refuse(
        fmt::format("of {} and {} one may be a weight, not an id; name the ends with "
                    "--source-column and --target-column, by their numbers from 1",
                    shown(source), shown(target)));
}

// Some programs write the numbers of nodes and edges as a first line, or rows, columns and entries
// of a matrix: no id is larger than the one, and the last is the number of lines.
void refuse_counts(const EdgeTable& table, const CsvReader& csv) {
  size_t rows = table.sources.size();
  if (csv.has_header() || rows < 3) return;
  NodeId nodes = table.sources[0];
  bool pair = table.width == 0 && table.targets[0] == rows - 1 && table.targets[0] > nodes;
  bool size = table.width == 1 && table.targets[0] == nodes &&
              table.values[0] == static_cast<float>(rows - 1);
  bool sure = pair || size;
  for (size_t row = 1; row < rows && sure; ++row)
    sure = std::max(table.sources[row], table.targets[row]) <= nodes;
  require(!sure,
          "{}: its first line, {} {}, seems to be the numbers of nodes and edges; take it out",
          csv.path().string(), nodes, table.targets[0]);
}

// As many rows as columns, not counting names of the rows.
bool is_square(const EdgeTable& table, size_t columns) {
  constexpr size_t kWide = 8;  // fewer may be an edge list of a few lines, if there are ids from 2
  size_t rows = table.sources.size();
  if (rows < 3 || (columns != rows && columns != rows + 1)) return false;
  auto flag = [](NodeId id) { return id <= 1; };
  auto sources = table.sources.span(), targets = table.targets.span();
  return columns >= kWide || (std::all_of(sources.begin(), sources.end(), flag) &&
                              std::all_of(targets.begin(), targets.end(), flag));
}

// A first column that counts the rows, and a third of what may be ids: an index before the edges, or
// nodes with their neighbours.
bool counts_rows(const EdgeTable& table) {
  size_t rows = table.sources.size();
  if (rows < 3 || table.width == 0 || table.sources[0] > 1) return false;
  std::set<float> values;
  for (size_t row = 0; row < rows; ++row) {
    float value = table.values[row * table.width];
    if (table.sources[row] != table.sources[0] + row || value < 0 || value != std::floor(value))
      return false;
    values.insert(value);
  }
  return values.size() > 2;
}

// Tables whose ends nothing names, and that may list something else than edges.
void refuse_unlike_edges(const EdgeTable& table, const CsvReader& csv) {
  require(
      !is_square(table, csv.columns().size()),
      "{}: {} rows of {} columns seem to be a matrix; save the edges as a table of two columns, "
      "or name the ends with --source-column and --target-column",
      csv.path().string(), table.sources.size(), csv.columns().size());
  require(
      csv.has_header() || !counts_rows(table),
      "{}: its first column counts the rows, so it may be no end of an edge; name the ends with "
      "--source-column and --target-column, by their numbers from 1",
      csv.path().string());
}

// A header in words that we do not know looks like an edge between two names.
void warn_of_header(const EdgeTable& table, const CsvReader& csv, const NodeIds& ids) {
  if (csv.has_header() || !ids.are_text() || table.sources.size() < 3) return;
  NodeId a = table.sources[0], b = table.targets[0];
  auto others_have = [&](std::span<const NodeId> ends) {
    return std::any_of(ends.begin() + 1, ends.end(), [=](NodeId id) { return id == a || id == b; });
  };
  if (!others_have(table.sources.span()) && !others_have(table.targets.span()))
    log("warning: {}: its first line is read as an edge, but its names do not come again; if it is "
        "a header, take it out",
        csv.path().string());
}

// Two columns: the fast way, without a list of fields.
void read_pairs(EdgeTable& table, CsvReader& csv, const EdgeColumns& columns, NodeIds& ids) {
  std::vector<std::string_view> fields;
  std::string_view line, ends[2];
  ReadProgress progress(csv.lines());
  while (csv.next_line(line)) {
    bool plain = line.find('"') == std::string_view::npos;
    if (!plain || !split_pair(line, csv.delimiter(), ends[0], ends[1])) {
      csv.split(line, fields);
      if (fields.size() < 2) csv.refuse("one field, expected the two ends of an edge");
      csv.check_count(fields.size());
      ends[0] = fields[0];
      ends[1] = fields[1];
    }
    if (table.sources.size() == 0) check_first_row(csv, ends[columns.source], ends[columns.target]);
    table.sources.push_back(read_end(csv, ends[columns.source], ids));
    table.targets.push_back(read_end(csv, ends[columns.target], ids));
    progress.edge();
  }
}

void read_rows(EdgeTable& table, CsvReader& csv, const EdgeColumns& columns,
               EdgeValueColumns& values, NodeIds& ids) {
  std::vector<std::string_view> fields;
  ReadProgress progress(csv.lines());
  while (csv.next(fields)) {
    if (table.sources.size() == 0) {
      check_first_row(csv, fields[columns.source], fields[columns.target]);
      if (!csv.has_header() && std::find(fields.begin(), fields.end(), "#") != fields.end())
        csv.refuse("seems to have a comment after the edge; take it out");
    }
    table.sources.push_back(read_end(csv, fields[columns.source], ids));
    table.targets.push_back(read_end(csv, fields[columns.target], ids));
    values.take(fields, csv);
    progress.edge();
  }
}

}  // namespace

EdgeTable read_edge_table(const TextFile& file, const ReadOptions& options, NodeIds& ids) {
  if (is_matrix_market(file)) return read_matrix_market(file);
  CsvReader csv(file);
  EdgeColumns columns = choose_edge_columns(csv, options);
  EdgeTable table;
  if (csv.columns().size() == 2) {
    read_pairs(table, csv, columns, ids);
  } else {
    EdgeValueColumns values(file, columns.others);
    read_rows(table, csv, columns, values, ids);
    table.width = values.finish(table.values);
  }
  warn_of_header(table, csv, ids);
  if (columns.known) return table;
  refuse_counts(table, csv);
  refuse_unlike_edges(table, csv);
  return table;
}

}  // namespace spex
