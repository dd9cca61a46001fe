// Which settings of a model are searched, and the values they may take.
#pragma once

#include <spex/config/config.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace spex {

struct Choice {
  std::string key;                  // "gcn.width"
  std::vector<std::string> values;  // the one of the configuration it was made for among them
};
using SearchSpace = std::vector<Choice>;

// A value for every key of a space, in its order.
using Assignment = std::vector<std::string>;

// Of the model itself; a scorer before it keeps its settings, so that its scores can be shared.
// Without classes there are none to weigh.
SearchSpace search_space(const Config& config, bool has_classes = true);

// The values that a configuration has.
Assignment values_of(const SearchSpace& space, const Config& config);

// `config` with these values; only those that differ are set.
Config with_values(Config config, const SearchSpace& space, const Assignment& values);

// Random values for all keys, or those of a parent with up to three changed. A configuration that
// can never work is not drawn, nor one that trains what one of `tried` does. Settings that do
// nothing beside the others keep the values of `config`. The same arguments give the same values;
// those of `config` if nothing else is found.
using Tried = std::set<Assignment>;
Assignment draw_values(const Config& config, const SearchSpace& space, const Tried& tried,
                       uint64_t seed, size_t trial);
Assignment change_values(const Config& config, const SearchSpace& space, const Assignment& parent,
                         const Tried& tried, uint64_t seed, size_t trial);

}  // namespace spex
