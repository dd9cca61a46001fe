// From the ids that files use to 0 .. nodes-1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/draft.h"
#include "data/formats/csv.h"

namespace spex {

// Ids are whole numbers or text; the first one seen decides, and then all must be of its kind.
// Numbers that are compact stay as they are; others, and text, are numbered anew.
class NodeIds {
 public:
  // A provisional number for the id in `field`; false if it is of the wrong kind or negative.
  bool add(std::string_view field, uint64_t& provisional) {
    uint64_t value = 0;
    if (kind_ == Kind::numbers && parse_digits(field, value)) {
      provisional = value;
      largest_ = value > largest_ ? value : largest_;
      ++seen_;
      return true;
    }
    return add_slowly(field, provisional);
  }
  // After all were added: whether numbers have to be mapped, and the number of nodes.
  // `at_least`: nodes that are known to exist (rows of a table without ids).
  size_t settle(std::vector<std::vector<uint64_t>*> all, size_t at_least);

  bool are_text() const { return kind_ == Kind::text; }
  // "a whole number from 0" or "a name", for messages about what was expected.
  const char* expected() const;

 private:
  enum class Kind { unknown, numbers, text };
  static bool parse_digits(std::string_view field, uint64_t& value);
  bool add_slowly(std::string_view field, uint64_t& provisional);
  Kind kind_ = Kind::unknown;
  uint64_t largest_ = 0;
  uint64_t seen_ = 0;
  std::unordered_map<std::string, uint64_t> text_;
};

inline bool NodeIds::parse_digits(std::string_view field, uint64_t& value) {
  if (field.empty() || field.size() > 18) return false;  // 18 digits cannot overflow
  uint64_t result = 0;
  for (char c : field) {
    unsigned digit = static_cast<unsigned char>(c) - unsigned{'0'};
    if (digit > 9) return false;
    result = result * 10 + digit;
  }
  value = result;
  return true;
}

}  // namespace spex
