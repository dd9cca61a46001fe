#include "data/formats/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace spex {
namespace {

constexpr std::array kMissingWords = {"na", "n/a", "nan", "null", "none", "?", "#n/a"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Takes a run of digits off the front; its length.
size_t take_digits(std::string_view& text) {
  size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  text.remove_prefix(count);
  return count;
}

template <class T>
bool parse_whole(std::string_view field, T& value) {
  field = trim(field);
  if (field.size() > 1 && field[0] == '+' && field[1] != '-') field.remove_prefix(1);
  auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  return error == std::errc() && end == field.data() + field.size();
}

// "0,5" as "0.5"; text with another number of commas stays as it is.
std::string with_point(std::string_view field) {
  std::string text(field);
  if (std::count(text.begin(), text.end(), ',') == 1)
    std::replace(text.begin(), text.end(), ',', '.');
  return text;
}

}  // namespace

std::string_view trim(std::string_view field) {
  while (!field.empty() && (field.front() == ' ' || field.front() == '\t')) field.remove_prefix(1);
  while (!field.empty() && (field.back() == ' ' || field.back() == '\t')) field.remove_suffix(1);
  return field;
}

std::string_view without_zero_fraction(std::string_view field) {
  size_t point = field.find('.');
  if (point == 0 || point == std::string_view::npos || point + 1 == field.size()) return field;
  bool zeros = field.find_first_not_of('0', point + 1) == std::string_view::npos;
  bool digits = field.find_first_not_of("0123456789") == point;
  return zeros && digits ? field.substr(0, point) : field;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool parse_number(std::string_view field, int64_t& value) {
  return parse_whole(field, value);
}
bool parse_number(std::string_view field, float& value) {
  return parse_whole(field, value);
}
bool parse_number(std::string_view field, double& value) {
  return parse_whole(field, value);
}
bool parse_number(std::string_view field, float& value, bool decimal_comma) {
  return parse_whole(field, value) || (decimal_comma && parse_whole(with_point(field), value));
}

bool is_missing(std::string_view field) {
  field = trim(field);
  if (field.empty()) return true;
  if (field.size() > 4) return false;
  return std::find(kMissingWords.begin(), kMissingWords.end(), lower_case(field)) !=
         kMissingWords.end();
}

bool looks_like_number(std::string_view field) {
  field = trim(field);
  if (field.size() > 1 && field[0] == '+' && field[1] != '-') field.remove_prefix(1);
  double value = 0;
  auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  return error != std::errc::invalid_argument && end == field.data() + field.size();
}

bool looks_like_date(std::string_view field) {
  field = trim(field);
  size_t first = take_digits(field);
  if (first == 0 || first > 4 || field.empty()) return false;
  char separator = field[0];
  if (separator != '-' && separator != '/' && separator != '.') return false;
  field.remove_prefix(1);
  size_t second = take_digits(field);
  if (second == 0 || second > 2 || !field.starts_with(separator)) return false;
  field.remove_prefix(1);
  size_t third = take_digits(field);
  if (third == 0 || third > 4 || (first != 4 && third != 4 && third != 2)) return false;
  return field.empty() || field[0] == ' ' || field[0] == 'T';
}

FieldKind kind_of(std::string_view field, bool decimal_comma) {
  if (is_missing(field)) return FieldKind::missing;
  if (looks_like_number(field) || (decimal_comma && looks_like_number(with_point(field))))
    return FieldKind::number;
  return looks_like_date(field) ? FieldKind::date : FieldKind::text;
}

void CommaNumbers::take(std::string_view field) {
  field = trim(field);
  size_t comma = field.find(',');
  if (comma == std::string_view::npos || (decimals_ && !first_.empty())) return;
  std::string joined(field);
  std::erase(joined, ',');
  if (!looks_like_number(joined)) return;
  std::string_view whole = field.substr(0, comma);
  whole.remove_prefix(whole.starts_with('-') || whole.starts_with('+'));
  size_t digits = 0;  // after the last comma
  for (std::string_view rest = field.substr(field.rfind(',') + 1);
       digits < rest.size() && is_digit(rest[digits]);)
    ++digits;
  bool thousands = digits == 3 && !whole.empty() && whole.size() <= 3 && whole[0] != '0';
  decimals_ |= !thousands;
  if (first_.empty()) first_ = field;
}

std::string CommaNumbers::doubtful(bool decimal_comma) const {
  return decimal_comma && decimals_ ? "" : first_;
}

std::string shown(std::string_view field) {
  constexpr size_t kLongest = 40;
  if (field.size() <= kLongest) return fmt::format("'{}'", field);
  return fmt::format("'{}...'", field.substr(0, kLongest));
}

}  // namespace spex
