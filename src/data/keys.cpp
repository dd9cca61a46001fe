#include <spex/core/error.h>
#include <spex/data/keys.h>

#include <charconv>
#include <optional>

#include "data/formats/fields.h"
#include "data/formats/key_table.h"

namespace spex {
namespace {

std::optional<uint64_t> whole_number(std::string_view text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

template <class Table, class Key>
void add_new(Table& table, Key key) {
  size_t node = table.size();
  require(table.add(key) == node, "two nodes are called {}, so neither can be asked for", key);
}

}  // namespace

std::string_view NodeKeys::text_of(NodeId node) const {
  return {reinterpret_cast<const char*>(text.data()) + offsets[node],
          offsets[node + 1] - offsets[node]};
}

std::string NodeKeys::of(NodeId node) const {
  if (are_text()) return std::string(text_of(node));
  return std::to_string(numbers.empty() ? node : numbers[node]);
}

struct KeyIndex::Tables {
  KeyTable<NumberKeys> numbers;
  KeyTable<TextKeys> text;
};

KeyIndex::KeyIndex(const NodeKeys& keys, size_t nodes)
    : nodes_(nodes), tables_(std::make_unique<Tables>()) {
  for (size_t i = 0; i < keys.size() && keys.are_text(); ++i)
    add_new(tables_->text, keys.text_of(static_cast<NodeId>(i)));
  for (uint64_t number : keys.numbers) add_new(tables_->numbers, number);
}

KeyIndex::~KeyIndex() = default;

NodeId KeyIndex::find(std::string_view key) const {
  key = trim(key);
  uint32_t node = KeyTable<TextKeys>::kNone;
  if (tables_->text.size() > 0) {
    node = tables_->text.find(key);
  } else if (auto number = whole_number(key)) {
    bool keyed = tables_->numbers.size() > 0;
    if (keyed) node = tables_->numbers.find(*number);
    if (!keyed && *number < nodes_) node = static_cast<uint32_t>(*number);
  }
  if (node == KeyTable<TextKeys>::kNone) {
    if (tables_->text.size() + tables_->numbers.size() > 0)
      fail("no node is called {}", shown(key));
    fail("there is no node {}; nodes are 0 to {}", shown(key), nodes_ - 1);
  }
  return node;
}

}  // namespace spex
