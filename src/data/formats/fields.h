// What one field of a table holds.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace spex {

inline constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

enum class FieldKind { missing, number, date, text };

// `decimal_comma`: 0,5 is a number as well, as in tables whose fields a semicolon separates.
FieldKind kind_of(std::string_view field, bool decimal_comma = false);

bool is_missing(std::string_view field);         // empty, NA, N/A, NaN, null, none, ?
bool looks_like_date(std::string_view field);    // 2024-01-31, 31.1.2024, 1/31/24, a time after it
bool looks_like_number(std::string_view field);  // of any size, also not finite

// Numbers as whole fields, spaces around them allowed. False if the field is not one.
bool parse_number(std::string_view field, int64_t& value);
bool parse_number(std::string_view field, float& value);  // NaN and infinity are parsed as such
bool parse_number(std::string_view field, double& value);
bool parse_number(std::string_view field, float& value, bool decimal_comma);

std::string_view trim(std::string_view field);
// "12.0" as "12"; any other text as it is.
std::string_view without_zero_fraction(std::string_view field);
std::string lower_case(std::string_view text);

// The numbers of a column that have commas in them: of thousands or of decimals?
class CommaNumbers {
 public:
  void take(std::string_view field);
  // A number that can be read in two ways, as far as the column tells; empty if there is none.
  std::string doubtful(bool decimal_comma) const;

 private:
  bool decimals_ = false;  // a comma that cannot separate thousands
  std::string first_;      // the first that can; or, without a decimal comma, the first of all
};

// A field for a message: quoted, and cut if it is long.
std::string shown(std::string_view field);

}  // namespace spex
