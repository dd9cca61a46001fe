#include "data/formats/csv.h"

#include <spex/core/error.h>

#include <algorithm>

#include "data/formats/column_names.h"

namespace spex {
namespace {

constexpr size_t kRowsLookedAt = 32;

// Fields of a line, without undoing quotes.
size_t count_fields(std::string_view line, char delimiter) {
  line = delimiter == ' ' ? trim(line) : line;
  bool quoted = false;
  size_t count = 1;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    bool repeated = delimiter == ' ' && i > 0 && line[i - 1] == ' ';
    count += line[i] == delimiter && !quoted && !repeated;
  }
  return count;
}

// R's tables, with blanks or tabs, have a header that lacks the column of the rows' names.
bool lacks_row_names(size_t header, size_t fields, char delimiter) {
  return (delimiter == ' ' || delimiter == '\t') && header > 1 && header + 1 == fields;
}

// Whether it cuts all rows into as many fields.
bool cuts_evenly(const std::vector<std::string>& rows, char delimiter) {
  size_t first = count_fields(rows[0], delimiter);
  size_t fields = rows.size() > 1 ? count_fields(rows[1], delimiter) : first;
  if (fields < 2 || (first != fields && !lacks_row_names(first, fields, delimiter))) return false;
  return std::all_of(rows.begin() + 1, rows.end(), [&](const std::string& row) {
    return count_fields(row, delimiter) == fields;
  });
}

// Semicolon before comma: with it, commas are decimal points.
char find_delimiter(const std::vector<std::string>& rows) {
  for (char c : {'\t', ';', '|', ','})
    if (cuts_evenly(rows, c)) return c;
  if (cuts_evenly(rows, ' ')) return ' ';
  for (char c : {'\t', ',', ';', '|'})
    if (count_fields(rows[0], c) > 1) return c;
  return ' ';
}

// pandas: an index without a name, then columns that are called by their numbers.
bool is_numbered_header(const std::vector<std::string>& first) {
  if (first.size() < 2 || !trim(first[0]).empty()) return false;
  for (size_t c = 1; c < first.size(); ++c)
    if (trim(first[c]) != std::to_string(c - 1)) return false;
  return true;
}

// A header has no number in it and numbers below it, or a word that we know and that does not come
// again: u and v can be nodes.
bool looks_like_header(const std::vector<std::string>& first,
                       const std::vector<std::string_view>& second, bool comes_again) {
  if (is_numbered_header(first)) return true;
  bool numbers_below = std::any_of(second.begin(), second.end(), looks_like_number);
  bool known = std::any_of(first.begin(), first.end(), is_column_word) || names_both_ends(first);
  if (known) return numbers_below || !comes_again;
  return numbers_below && std::none_of(first.begin(), first.end(), looks_like_number);
}

// What stands before the first row and is none: comments, and the separator that spreadsheets tell
// each other. A row may begin with a hashtag, but then further fields do.
bool is_comment(std::string_view line) {
  if (line.starts_with("sep=") && line.size() <= 5) return true;
  if (!line.starts_with('#') && !line.starts_with('%')) return false;
  for (size_t i = 2; i < line.size(); ++i)
    if (line[i] == line[0] && std::string_view(",;|\t").find(line[i - 1]) != std::string_view::npos)
      return false;
  return true;
}

}  // namespace

// One reader looks at the first rows; another one starts anew, and names what is wrong by its line.
CsvReader::CsvReader(const TextFile& file) : lines_(file) {
  std::string comment;
  std::vector<std::string> rows = first_rows(comment);
  choose_columns(rows, comment);
  lines_ = LineReader(file);
  strict_ = true;
  std::string_view line;
  if (has_header_) next_line(line);
}

std::vector<std::string> CsvReader::first_rows(std::string& comment) {
  std::vector<std::string> rows;
  std::string_view line;
  while (rows.size() < kRowsLookedAt && lines_.next(line)) {
    if (trim(line).empty()) continue;
    if (rows.empty() && is_comment(line)) {
      comment = line;
      continue;
    }
    if (line.find('\0') != std::string_view::npos) fail("{} is not text", path().string());
    if (line.find('\r') != std::string_view::npos)
      refuse("a line end of another kind within the line; save the file with one kind");
    rows.emplace_back(line);
  }
  require(!rows.empty(), "{} has no rows", path().string());
  return rows;
}

void CsvReader::choose_columns(const std::vector<std::string>& rows, const std::string& comment) {
  delimiter_ = find_delimiter(rows);
  std::vector<std::string_view> fields;
  split(rows[0], fields);
  std::vector<std::string> names(fields.begin(), fields.end());
  bool comes_again = false;
  for (size_t r = rows.size(); r-- > 1;) {
    split(rows[r], fields);
    for (std::string_view field : fields)
      comes_again = comes_again || std::find(names.begin(), names.end(), field) != names.end();
  }
  if (rows.size() < 2) fields.clear();
  has_header_ = looks_like_header(names, fields, comes_again);
  if (has_header_ && lacks_row_names(names.size(), fields.size(), delimiter_))
    names.insert(names.begin(), "");
  size_t count = names.size();
  if (!has_header_) {
    // A header may be the last comment: "# FromNodeId ToNodeId".
    split(trim(std::string_view(comment).substr(std::min<size_t>(1, comment.size()))), fields);
    bool named =
        fields.size() == count && std::any_of(fields.begin(), fields.end(), is_column_word);
    names.assign(count, "");
    for (size_t c = 0; c < count; ++c)
      names[c] = named ? std::string(fields[c]) : fmt::format("column {}", c + 1);
  }
  for (std::string& name : names) columns_.emplace_back(trim(name));
}

bool CsvReader::next_line(std::string_view& line) {
  while (lines_.next(line)) {
    if (trim(line).empty() || (!started_ && is_comment(line))) continue;
    if (started_ && (line.starts_with("# ") || line.starts_with("% ")))
      refuse("seems to be a comment between the rows; take it out");
    started_ = true;
    return true;
  }
  return false;
}

bool CsvReader::next(std::vector<std::string_view>& fields) {
  std::string_view line;
  if (!next_line(line)) return false;
  split(line, fields);
  check_count(fields.size());
  return true;
}

void CsvReader::check_count(size_t fields) const {
  if (fields != columns_.size())
    refuse(fmt::format("{} fields, expected {}", fields, columns_.size()));
}

void CsvReader::split(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  unquoted_.clear();
  std::string_view rest = delimiter_ == ' ' ? trim(line) : line;
  for (;;) {
    size_t start = rest.find_first_not_of(' ');
    if (start != std::string_view::npos && rest[start] == '"') {
      rest.remove_prefix(start);
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
    if (end == std::string_view::npos) {
      if (strict_)
        refuse(
            "a quoted field does not end on its line; take line breaks out of fields, or leave "
            "that column out");
      end = rest.size();
    }
    text += rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!rest.starts_with('"')) break;
    text += '"';
    rest.remove_prefix(1);
  }
  while (delimiter_ != ' ' && rest.starts_with(' ')) rest.remove_prefix(1);
  if (!rest.empty() && rest[0] != delimiter_) {
    if (strict_) refuse("text follows a quoted field");
    rest = {};
  }
  return text;
}

}  // namespace spex
