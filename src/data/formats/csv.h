// Tables as text: tab, semicolon, bar, comma or spaces between fields, a header or not, comments
// (# or %) before the first row, double quotes around fields that need them.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/fields.h"
#include "data/formats/lines.h"

namespace spex {

class CsvReader {
 public:
  explicit CsvReader(const TextFile& file);
  static CsvReader open(const std::filesystem::path& path) {
    return CsvReader(TextFile::open(path));
  }

  bool has_header() const { return has_header_; }
  const std::vector<std::string>& columns() const { return columns_; }  // "column 1".. if none
  char delimiter() const { return delimiter_; }
  bool decimal_comma() const { return delimiter_ != ','; }

  // The next row that is not blank, as text or as fields; both are valid until the next call.
  bool next_line(std::string_view& line);
  bool next(std::vector<std::string_view>& fields);  // refuses another number of fields
  void split(std::string_view line, std::vector<std::string_view>& fields);
  void check_count(size_t fields) const;

  const std::filesystem::path& path() const { return lines_.path(); }
  const LineReader& lines() const { return lines_; }
  [[noreturn]] void refuse(std::string_view what) const { lines_.refuse(what); }

 private:
  std::vector<std::string> first_rows(std::string& comment);
  void choose_columns(const std::vector<std::string>& rows, const std::string& comment);
  std::string_view quoted_field(std::string_view& rest);
  LineReader lines_;
  bool strict_ = false;   // refuse broken quotes, once the first rows have been looked at
  bool started_ = false;  // a row was given: comments are over
  char delimiter_ = ',';
  bool has_header_ = false;
  std::vector<std::string> columns_;
  std::deque<std::string> unquoted_;  // fields whose quotes had to be undone
};

}  // namespace spex
