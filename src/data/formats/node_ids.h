// From the ids that files use to 0 .. nodes-1.
#pragma once

#include <spex/data/keys.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/fields.h"
#include "data/formats/key_table.h"

namespace spex {

// Ids are whole numbers or text; the first one seen decides, and then all must be of its kind.
// While tables are read, an id is a provisional number of 32 bits; when all ids are known, `settle`
// says how many nodes there are, and `renumber` makes provisional numbers final.
class NodeIds {
 public:
  // The provisional number of the id in `field`, which becomes a node if it was none. False if it
  // is of the wrong kind, negative or not a node of a closed set.
  bool add(std::string_view field, NodeId& provisional) {
    uint64_t value = 0;
    if (kind_ != Kind::numbers || closed_ || !parse_digits(field, value))
      return add_slowly(field, provisional);
    padded_ |= field[0] == '0' && field.size() > 1;
    provisional = add_number(value);
    return true;
  }
  bool holds(std::string_view field) const;  // whether it was added

  // The nodes are these and no others, and a provisional number is final.
  void close(const NodeKeys& keys, size_t nodes);

  // Tables whose row i is node i: `rows` nodes, called by their numbers. Throws if an id is not
  // below; `table` and `edges` are for the message.
  size_t settle_rows(size_t rows, const std::filesystem::path& table,
                     const std::filesystem::path& edges);
  // Otherwise the ids are the nodes: numbers that leave no gap stay as they are, others are keys,
  // numbered in ascending order, and text is numbered in order of appearance.
  size_t settle(const std::filesystem::path& edges);
  void renumber(std::span<NodeId> provisional) const;
  NodeKeys keys() const;  // after settling; empty if nodes are called by their numbers

  bool are_text() const { return kind_ == Kind::text; }
  // What to tell of a field that `add` did not take.
  std::string refusal(std::string_view field) const;

 private:
  enum class Kind { unknown, numbers, text };
  // Numbers below are their own provisional number, and a bit each; larger ones go to a table.
  static constexpr uint64_t kPlain = uint64_t{1} << 28;
  static bool parse_digits(std::string_view field, uint64_t& value);
  NodeId add_number(uint64_t number) {
    if (number >= kPlain) return add_large(number);
    mark(static_cast<NodeId>(number));
    return static_cast<NodeId>(number);
  }
  NodeId add_large(uint64_t number);
  bool add_slowly(std::string_view field, NodeId& provisional);
  bool find(std::string_view field, NodeId& provisional) const;
  void mark(NodeId plain) {
    if (plain / 64 >= plain_.size()) plain_.resize(plain / 32 + 1);
    plain_[plain / 64] |= uint64_t{1} << (plain % 64);
  }
  size_t largest_plain() const;  // plus one; 0 if there is none
  void rank();
  void log_oddities(const std::filesystem::path& edges) const;

  Kind kind_ = Kind::unknown;
  bool closed_ = false;
  size_t closed_nodes_ = 0;      // of a closed set without keys
  bool padded_ = false;          // a number had zeros before it
  bool gaps_ = false;            // numbers are keys
  std::vector<uint64_t> plain_;  // a bit per number
  std::vector<NodeId> ranks_;    // of each 64 bits: how many numbers are below
  KeyTable<NumberKeys> large_;
  std::vector<NodeId> large_ranks_;  // by order of appearance
  KeyTable<TextKeys> text_;
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
