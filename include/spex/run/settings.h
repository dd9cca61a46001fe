// What a user says of a training, and the configuration it leads to.
#pragma once

#include <spex/config/config.h>
#include <spex/data/dataset.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace spex {

struct RunSettings {
  std::string data;  // a file, folder or generator; empty: it came from memory
  std::string preset;
  std::string config_file;
  std::vector<std::string> assignments;  // key=value
  std::optional<std::string> model;
  bool chooses_model = false;  // the data decides where nothing says which
  std::optional<size_t> seed, seeds, members, split, threads;
};

// Throws if a setting has no such name or value: what can be said before the data is read.
void check_settings(const RunSettings& settings);

// In order of strength: defaults for the data, preset, file, assignments, values of their own. A
// preset of the data's own name is used when nothing else is said. Defaults may be tried out, which
// `stop` ends.
Config resolve(const RunSettings& settings, const Dataset& data,
               const std::function<bool()>& stop = {});

// For a comparison of models: what the default averages for one of them is not set against single
// networks of the others, unless the number of members is said.
void compare_alike(RunSettings& settings);

// The same for several models, each on each of the splits; no splits: the one of the settings. A
// model's own settings count for that model alone. Defaults may be chosen by a split's validation
// nodes, which are test nodes of others: each split has settings of its own.
std::vector<Config> resolve_each(const RunSettings& settings,
                                 const std::vector<std::string>& models,
                                 const std::vector<size_t>& splits, const Dataset& data,
                                 const std::function<bool()>& stop = {});

// Throws unless there are such models, each named once: it would be counted as two.
void check_models(const std::vector<std::string>& models);

}  // namespace spex
