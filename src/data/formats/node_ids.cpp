#include "data/formats/node_ids.h"

#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/log.h>
#include <spex/core/threads.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <numeric>

#include "data/draft.h"

namespace spex {
namespace {

constexpr size_t kIdBlock = size_t{1} << 18;

// Spaces around it, a plus before it and ".0" after it are allowed: a data frame writes whole
// numbers so in a column that has gaps. An exponent is not: digits may be lost.
bool parse_id(std::string_view field, uint64_t& value) {
  if (field.size() > 1 && field[0] == '+') field.remove_prefix(1);
  field = without_zero_fraction(field);
  auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  return error == std::errc() && end == field.data() + field.size();
}

}  // namespace

bool NodeIds::add_slowly(std::string_view field, NodeId& provisional) {
  field = trim(field);
  if (field.empty()) return false;
  if (closed_) return find(field, provisional);
  uint64_t number = 0;
  bool is_number = parse_id(field, number);
  // A number that is no whole number, or a date, is a measurement in the wrong column.
  bool measured = !is_number && (looks_like_number(field) || looks_like_date(field));
  if (kind_ == Kind::unknown && !measured) kind_ = is_number ? Kind::numbers : Kind::text;
  if (kind_ != Kind::text && !is_number) return false;
  padded_ |= kind_ == Kind::numbers && field.size() > 1 && field[0] == '0' && field[1] != '.';
  provisional = kind_ == Kind::text ? text_.add(field) : add_number(number);
  return true;
}

NodeId NodeIds::add_large(uint64_t number) {
  auto provisional = static_cast<NodeId>(kPlain + large_.add(number));
  require(provisional >= kPlain, "more than 2^32 - 2^28 node ids beyond {}", kPlain);
  return provisional;
}

bool NodeIds::find(std::string_view field, NodeId& provisional) const {
  field = trim(field);
  if (kind_ == Kind::text) return (provisional = text_.find(field)) != UINT32_MAX;
  uint64_t number = 0;
  if (!parse_id(field, number)) return false;
  provisional = static_cast<NodeId>(number);
  if (closed_ && large_.size() == 0) return number < closed_nodes_;
  if (closed_) return (provisional = large_.find(number)) != UINT32_MAX;
  if (number < kPlain)
    return number / 64 < plain_.size() && (plain_[number / 64] >> (number % 64) & 1) != 0;
  uint32_t index = large_.find(number);
  provisional = static_cast<NodeId>(kPlain + index);
  return index != UINT32_MAX;
}

bool NodeIds::holds(std::string_view field) const {
  NodeId provisional = 0;
  return find(field, provisional);
}

void NodeIds::close(const NodeKeys& keys, size_t nodes) {
  kind_ = keys.are_text() ? Kind::text : Kind::numbers;
  closed_ = true;
  closed_nodes_ = nodes;
  for (size_t node = 0; node < nodes && keys.are_text(); ++node)
    require(text_.add(keys.text_of(static_cast<NodeId>(node))) == node, "two nodes are called {}",
            shown(keys.text_of(static_cast<NodeId>(node))));
  for (size_t node = 0; node < keys.numbers.size(); ++node)
    require(large_.add(keys.numbers[node]) == node, "two nodes are called {}", keys.numbers[node]);
}

size_t NodeIds::largest_plain() const {
  for (size_t word = plain_.size(); word-- > 0;)
    if (plain_[word] != 0) return word * 64 + static_cast<size_t>(std::bit_width(plain_[word]));
  return 0;
}

size_t NodeIds::settle_rows(size_t rows, const std::filesystem::path& table,
                            const std::filesystem::path& edges) {
  require(!are_text(), "{} has no column called id, which node names in {} need", table.string(),
          edges.string());
  uint64_t largest = largest_plain();
  for (uint64_t number : large_.keys().keys()) largest = std::max(largest, number + 1);
  require(largest <= rows, "{}: an edge names node {}, but {} has {} rows and no column of ids",
          edges.string(), largest - 1, table.string(), rows);
  return rows;
}

size_t NodeIds::settle(const std::filesystem::path& edges) {
  log_oddities(edges);
  if (are_text()) return text_.size();
  rank();
  size_t nodes = (ranks_.empty() ? 0 : ranks_.back()) + large_.size();
  gaps_ = large_.size() > 0 || nodes != largest_plain();
  if (gaps_)
    log("{}: its {} node ids are not 0 to {}, so they are keys, in ascending order", edges.string(),
        nodes, nodes - 1);
  return nodes;
}

void NodeIds::rank() {
  ranks_.assign(plain_.size() + 1, 0);
  for (size_t word = 0; word < plain_.size(); ++word)
    ranks_[word + 1] = ranks_[word] + static_cast<NodeId>(std::popcount(plain_[word]));
  const auto& keys = large_.keys().keys();
  std::vector<NodeId> order(keys.size());
  std::iota(order.begin(), order.end(), NodeId{0});
  std::sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return keys[a] < keys[b]; });
  large_ranks_.resize(keys.size());
  for (size_t i = 0; i < order.size(); ++i)
    large_ranks_[order[i]] = ranks_.back() + static_cast<NodeId>(i);
}

void NodeIds::renumber(std::span<NodeId> provisional) const {
  if (!gaps_) return;
  parallel_for(provisional.size(), kIdBlock, [&](size_t begin, size_t end) {
    for (NodeId& id : provisional.subspan(begin, end - begin)) {
      uint64_t below = id < kPlain ? (uint64_t{1} << (id % 64)) - 1 : 0;
      id = id >= kPlain
               ? large_ranks_[id - kPlain]
               : ranks_[id / 64] + static_cast<NodeId>(std::popcount(plain_[id / 64] & below));
    }
  });
}

NodeKeys NodeIds::keys() const {
  NodeKeys keys;
  if (are_text()) {
    keys.offsets = share(std::vector<uint64_t>(text_.keys().offsets()));
    keys.text = share(std::vector<uint8_t>(text_.keys().text().begin(), text_.keys().text().end()));
  } else if (gaps_) {
    std::vector<uint64_t> numbers;
    numbers.reserve(ranks_.back() + large_.size());
    for (size_t word = 0; word < plain_.size(); ++word)
      for (uint64_t bits = plain_[word]; bits != 0; bits &= bits - 1)
        numbers.push_back(word * 64 + static_cast<uint64_t>(std::countr_zero(bits)));
    numbers.insert(numbers.end(), large_.keys().keys().begin(), large_.keys().keys().end());
    std::sort(numbers.begin() + static_cast<std::ptrdiff_t>(ranks_.back()), numbers.end());
    keys.numbers = share(std::move(numbers));
  }
  return keys;
}

// What may not be meant: numbers that lose their zeros, and names that mean that there is none.
void NodeIds::log_oddities(const std::filesystem::path& edges) const {
  if (padded_)
    log("{}: ids are numbers, so zeros before them do not count: 007 is node 7", edges.string());
  for (const char* name : {"NA", "N/A", "NaN", "nan", "NULL", "null", "None", "none", "?"})
    if (are_text() && text_.find(name) != UINT32_MAX)
      log("warning: {}: there is a node called {}; if that means a missing id, take its rows out",
          edges.string(), name);
}

std::string NodeIds::refusal(std::string_view field) const {
  if (closed_) return fmt::format("the node id {} is not the id of a node", shown(field));
  if (kind_ == Kind::text) return fmt::format("the node id {} is not a name", shown(field));
  bool name = kind_ == Kind::numbers && kind_of(field) == FieldKind::text;
  return fmt::format(
      "the node id {} is not a whole number from 0{}", shown(field),
      name ? ", as those before it; if ids are names, let the first row have one" : "");
}

}  // namespace spex
