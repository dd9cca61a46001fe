#include "data/formats/node_ids.h"

#include <spex/core/error.h>
#include <spex/core/log.h>

#include <algorithm>

namespace spex {

bool NodeIds::add_slowly(std::string_view field, uint64_t& provisional) {
  field = trim(field);
  int64_t number = 0;
  bool is_number = parse_number(field, number);
  if (kind_ == Kind::unknown) kind_ = is_number ? Kind::numbers : Kind::text;
  if (field.empty()) return false;
  if (kind_ == Kind::numbers) {
    if (!is_number || number < 0) return false;
    provisional = static_cast<uint64_t>(number);
    largest_ = std::max(largest_, provisional);
  } else {
    provisional = text_.emplace(field, text_.size()).first->second;
  }
  ++seen_;
  return true;
}

size_t NodeIds::settle(std::vector<std::vector<uint64_t>*> all, size_t at_least) {
  if (kind_ == Kind::text) return std::max(at_least, text_.size());
  // An honest file names most of its nodes: ids far beyond their own number are keys of some other
  // system, and must not become a graph of billions of empty rows.
  if (largest_ < 4 * seen_ + 1024 || largest_ < at_least)
    return std::max<size_t>(at_least, seen_ ? largest_ + 1 : 0);
  std::vector<uint64_t> sorted;
  for (auto* ids : all) sorted.insert(sorted.end(), ids->begin(), ids->end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  for (auto* ids : all)
    for (uint64_t& id : *ids)
      id = static_cast<uint64_t>(std::lower_bound(sorted.begin(), sorted.end(), id) -
                                 sorted.begin());
  log("node ids reach {}: numbered anew from 0 to {}, in ascending order", largest_,
      sorted.size() - 1);
  return std::max(at_least, sorted.size());
}

const char* NodeIds::expected() const {
  return kind_ == Kind::text ? "a name" : "a whole number from 0";
}

}  // namespace spex
