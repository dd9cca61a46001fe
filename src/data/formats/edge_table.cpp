#include <spex/core/error.h>
#include <spex/core/log.h>
#include <spex/core/stopwatch.h>

#include <algorithm>

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
  if (!ids.add(field, id))
    csv.refuse(fmt::format("the node id {} is not {}", shown(field), ids.expected()));
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

// Some programs write the numbers of nodes and edges as a first line: no id is larger than the one,
// and the other is the number of lines.
void refuse_counts(const EdgeTable& table, const CsvReader& csv) {
  size_t rows = table.sources.size();
  if (csv.has_header() || rows < 3 || table.targets[0] != rows - 1) return;
  NodeId nodes = table.sources[0];
  bool sure = table.targets[0] > nodes;
  for (size_t row = 1; row < rows && sure; ++row)
    sure = std::max(table.sources[row], table.targets[row]) <= nodes;
  require(!sure,
          "{}: its first line, {} {}, seems to be the numbers of nodes and edges; take it out",
          csv.path().string(), nodes, table.targets[0]);
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
    if (table.sources.size() == 0)
      check_first_row(csv, fields[columns.source], fields[columns.target]);
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
    refuse_counts(table, csv);
    return table;
  }
  EdgeValueColumns values(file, columns.others);
  read_rows(table, csv, columns, values, ids);
  table.width = values.finish(table.values);
  return table;
}

}  // namespace spex
