// Tables as text: comma, semicolon, tab or space between fields, a header or not, comments (# or %)
// before the first row, double quotes around fields that need them.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/lines.h"

namespace spex {

class CsvReader {
 public:
  static CsvReader open(const std::filesystem::path& path);
  static CsvReader parse(std::span<const std::byte> bytes, const std::filesystem::path& path);

  bool has_header() const { return has_header_; }
  const std::vector<std::string>& columns() const { return columns_; }  // "column 1".. if none
  char delimiter() const { return delimiter_; }

  // The next row that is not blank, as text or as fields; both are valid until the next call.
  bool next_line(std::string_view& line);
  bool next(std::vector<std::string_view>& fields);  // refuses another number of fields
  void split(std::string_view line, std::vector<std::string_view>& fields);

  const std::filesystem::path& path() const { return lines_.path(); }
  size_t bytes() const { return lines_.bytes(); }
  [[noreturn]] void refuse(std::string_view what) const { lines_.refuse(what); }

 private:
  CsvReader(LineReader scout, LineReader lines);  // two readers of the same text
  void sniff();
  std::string_view quoted_field(std::string_view& rest);
  LineReader lines_;
  char delimiter_ = ',';
  bool has_header_ = false;
  std::vector<std::string> columns_;
  std::deque<std::string> unquoted_;  // fields whose quotes had to be undone
};

// Numbers as whole fields, spaces around them allowed. False if the field is not one.
bool parse_number(std::string_view field, int64_t& value);
bool parse_number(std::string_view field, float& value);  // NaN and infinity are parsed as such
std::string_view trim(std::string_view field);

// A field for a message: quoted, and cut if it is long.
std::string shown(std::string_view field);

}  // namespace spex
