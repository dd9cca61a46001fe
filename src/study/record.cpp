#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/text.h>
#include <spex/study/record.h>

#include <algorithm>
#include <cmath>

#include "run/json_fields.h"

namespace spex {

// The keys of NAME.study.json; found by their argument.
void fields(auto& io, StudyRow& r) {
  io("names", r.names);
  io("values", r.values);
}

void fields(auto& io, StudyTable& t) {
  io("names", t.names);
  io("values", t.values);
  io("rows", t.rows);
}

void fields(auto& io, StudyFigure& f) {
  io("title", f.title);
  io("sentence", f.sentence);
  io("kind", f.kind);
  io("x", f.x);
  io("y", f.y);
  io("value", f.value);
  io("series", f.series);
  io("panel", f.panel);
  io("low", f.low);
  io("high", f.high);
  io("x_title", f.x_title);
  io("y_title", f.y_title);
  io("x_unit", f.x_unit);
  io("y_unit", f.y_unit);
  io("log_x", f.log_x);
  io("log_y", f.log_y);
  io("only", f.only);
}

void fields(auto& io, StudyFinding& f) {
  io("claim", f.claim);
  io("rule", f.rule);
  io("numbers", f.numbers);
  io("agrees", f.agrees);
}

void fields(auto& io, StudySetting& s) {
  io("key", s.key);
  io("value", s.value);
}

void fields(auto& io, StudyRecord& r) {
  io("study", r.name);
  io("title", r.title);
  io("place", r.place);
  io("data", r.data);
  io("synthetic", r.synthetic);
  io("command", r.command);
  io("findings", r.findings);
  io("figures", r.figures);
  io("table", r.table);
  io("choices", r.choices);
  io("settings", r.settings);
  io("seconds", r.seconds);
}

namespace {

namespace fs = std::filesystem;

constexpr const char* kEnding = ".study.json";

size_t place_of(const std::vector<std::string>& heads, const std::string& head) {
  auto found = std::find(heads.begin(), heads.end(), head);
  require(found != heads.end(), "the table has no column {}", head);
  return static_cast<size_t>(found - heads.begin());
}

std::string number(double value) {
  return std::isnan(value) ? "" : fmt::format("{}", value);
}

std::string line(const std::vector<std::string>& fields) {
  std::vector<std::string> quoted;
  for (const std::string& field : fields) quoted.push_back(csv_field(field));
  return fmt::format("{}\n", fmt::join(quoted, ","));
}

void find_in(std::vector<fs::path>& found, const fs::path& folder, bool deeper) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().ends_with(kEnding))
      found.push_back(entry.path());
    else if (deeper && entry.is_directory())
      find_in(found, entry.path(), false);
  }
}

}  // namespace

void StudyTable::add(std::vector<std::string> row_names, std::vector<double> row_values) {
  require(row_names.size() == names.size() && row_values.size() == values.size(),
          "a row of {} words and {} numbers in a table of {} and {}", row_names.size(),
          row_values.size(), names.size(), values.size());
  rows.push_back({std::move(row_names), std::move(row_values)});
}

size_t StudyTable::name_column(const std::string& head) const {
  return place_of(names, head);
}

size_t StudyTable::value_column(const std::string& head) const {
  return place_of(values, head);
}

std::string to_json(const StudyRecord& record) {
  return write_json(record, 1);
}

StudyRecord parse_study(const std::string& text, const std::string& source) {
  return read_json<StudyRecord>(text, source);
}

std::string to_csv(const StudyTable& table) {
  std::vector<std::string> heads = table.names;
  heads.insert(heads.end(), table.values.begin(), table.values.end());
  std::string text = line(heads);
  for (const StudyRow& row : table.rows) {
    std::vector<std::string> fields = row.names;
    for (double value : row.values) fields.push_back(number(value));
    text += line(fields);
  }
  return text;
}

std::string to_text(const StudyRecord& record) {
  std::string text = fmt::format("{}, {} ({})\n", record.title, record.data, record.place);
  for (const StudyFinding& finding : record.findings)
    text += fmt::format("{}: {}\n  rule: {}\n  here: {}\n",
                        finding.agrees ? "agrees" : "does not agree", finding.claim, finding.rule,
                        finding.numbers);
  return text;
}

void save_study(const fs::path& folder, const StudyRecord& record) {
  write_text(folder / (record.name + ".csv"), to_csv(record.table));
  write_text(folder / (record.name + kEnding), to_json(record));
}

std::vector<StudyRecord> load_studies(const fs::path& folder) {
  std::vector<StudyRecord> records;
  if (!fs::is_directory(folder)) return records;
  std::vector<fs::path> found;
  find_in(found, folder, true);
  std::sort(found.begin(), found.end());
  for (const fs::path& path : found) records.push_back(parse_study(read_text(path), path.string()));
  return records;
}

}  // namespace spex
