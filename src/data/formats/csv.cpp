#include "data/formats/csv.h"

#include <spex/core/error.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace spex {
namespace {

// Words that name a column rather than a node. Only they make a header out of a row of text when
// the rows below are text as well.
constexpr std::array kHeaderWords = {
    "id",      "id_1",  "id_2",  "id1",   "id2",   "source", "target",  "src",    "dst",
    "from",    "to",    "node",  "node1", "node2", "u",      "v",       "node_1", "node_2",
    "node_id", "label", "class", "name",  "y",     "weight", "from_id", "to_id",  "labels"};

char find_delimiter(std::string_view line) {
  for (char c : {'\t', ',', ';'})
    if (line.find(c) != std::string_view::npos) return c;
  return ' ';
}

bool is_header_word(std::string_view field) {
  std::string lower(trim(field));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(kHeaderWords.begin(), kHeaderWords.end(), lower) != kHeaderWords.end();
}

bool is_number(std::string_view field) {
  float value = 0;
  return parse_number(field, value);
}

// A header has no number in it, and either a word that we know or numbers below it.
bool looks_like_header(const std::vector<std::string_view>& first,
                       const std::vector<std::string_view>& second) {
  if (std::any_of(first.begin(), first.end(), is_number)) return false;
  return std::any_of(first.begin(), first.end(), is_header_word) ||
         std::any_of(second.begin(), second.end(), is_number);
}

bool is_comment(std::string_view line) {
  return line.starts_with('#') || line.starts_with('%');
}

bool next_row(LineReader& lines, std::string_view& line) {
  while (lines.next(line))
    if (!trim(line).empty() && !is_comment(line)) return true;
  return false;
}

}  // namespace

CsvReader CsvReader::open(const std::filesystem::path& path) {
  return {LineReader::open(path), LineReader::open(path)};
}

CsvReader CsvReader::parse(std::span<const std::byte> bytes, const std::filesystem::path& path) {
  return {LineReader::parse(bytes, path), LineReader::parse(bytes, path)};
}

// The scout reads first, so that what is wrong with the first rows is named by their lines.
CsvReader::CsvReader(LineReader scout, LineReader lines) : lines_(std::move(scout)) {
  sniff();
  lines_ = std::move(lines);
  std::string_view line;
  if (has_header_) next_line(line);
}

// What the first two rows say about the delimiter, the number of fields and the header.
void CsvReader::sniff() {
  std::string_view line;
  require(next_row(lines_, line), "{} has no rows", path().string());
  std::string first_row(line), second_row;
  if (first_row.find('\0') != std::string::npos) fail("{} is not text", path().string());
  if (next_row(lines_, line)) second_row = line;
  delimiter_ = find_delimiter(first_row);
  std::vector<std::string_view> first, second;
  split(first_row, first);
  columns_.assign(first.begin(), first.end());
  std::vector<std::string> names = columns_;
  split(second_row, second);
  has_header_ = looks_like_header({names.begin(), names.end()}, second);
  for (size_t c = 0; c < columns_.size(); ++c)
    columns_[c] = has_header_ ? std::string(trim(names[c])) : fmt::format("column {}", c + 1);
}

bool CsvReader::next_line(std::string_view& line) {
  return next_row(lines_, line);
}

bool CsvReader::next(std::vector<std::string_view>& fields) {
  std::string_view line;
  if (!next_line(line)) return false;
  split(line, fields);
  if (fields.size() != columns_.size())
    refuse(fmt::format("{} fields, expected {}", fields.size(), columns_.size()));
  return true;
}

void CsvReader::split(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  unquoted_.clear();
  std::string_view rest = line;
  if (delimiter_ == ' ') rest = trim(rest);
  for (;;) {
    if (rest.starts_with('"')) {
      fields.push_back(quoted_field(rest));
    } else {
      size_t end = std::min(rest.find(delimiter_), rest.size());
      fields.push_back(rest.substr(0, end));
      rest.remove_prefix(end);
    }
    if (rest.empty()) return;
    rest.remove_prefix(1);
    while (delimiter_ == ' ' && rest.starts_with(' ')) rest.remove_prefix(1);
  }
}

// `rest` starts with a quote; a quote inside is doubled.
std::string_view CsvReader::quoted_field(std::string_view& rest) {
  std::string& text = unquoted_.emplace_back();
  rest.remove_prefix(1);
  for (;;) {
    size_t end = rest.find('"');
    if (end == std::string_view::npos) refuse("a quoted field does not end on its line");
    text += rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (!rest.starts_with('"')) break;
    text += '"';
    rest.remove_prefix(1);
  }
  if (!rest.empty() && rest[0] != delimiter_) refuse("text follows a quoted field");
  return text;
}

std::string_view trim(std::string_view field) {
  while (!field.empty() && (field.front() == ' ' || field.front() == '\t')) field.remove_prefix(1);
  while (!field.empty() && (field.back() == ' ' || field.back() == '\t')) field.remove_suffix(1);
  return field;
}

template <class T>
bool parse_whole(std::string_view field, T& value) {
  field = trim(field);
  if (field.size() > 1 && field[0] == '+' && field[1] != '-') field.remove_prefix(1);
  auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  return error == std::errc() && end == field.data() + field.size();
}

bool parse_number(std::string_view field, int64_t& value) {
  return parse_whole(field, value);
}
bool parse_number(std::string_view field, float& value) {
  return parse_whole(field, value);
}

std::string shown(std::string_view field) {
  constexpr size_t kLongest = 40;
  if (field.size() <= kLongest) return fmt::format("'{}'", field);
  return fmt::format("'{}...'", field.substr(0, kLongest));
}

}  // namespace spex
