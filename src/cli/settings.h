// The options that `spex train` and `spex estimate` share, and the configuration they lead to.
#pragma once

#include <spex/config/config.h>
#include <spex/data/dataset.h>

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace spex::cli {

struct Settings {
  std::string data;
  std::string preset;
  std::string config_file;
  std::vector<std::string> assignments;  // --set
  std::optional<std::string> model;
  bool chooses_model = false;  // the data decides where nothing says which
  std::optional<size_t> seed, seeds, split, threads;
  bool quiet = false;
};

// For the check() of options that take a number. Unchecked, -1 would be read as the largest number
// there is.
CLI::Validator within(const Range& range);

void add_settings(CLI::App& app, Settings& settings);

// Throws if a setting has no such name or value: what can be said before the data is read.
void check_settings(const Settings& settings);

// In order of strength: defaults for the data, preset, file, --set, options of their own. A preset
// of the data's own name is used when nothing else is said.
Config resolve(const Settings& settings, const Dataset& data);

// The same for one of several models: another's settings do not count for it.
Config resolve_one(Settings settings, const std::string& model, const std::vector<std::string>& all,
                   const Dataset& data);

std::vector<std::string> words_of(const std::string& list);  // "a,b" to a and b

// "all", or numbers such as 0,3,5; empty: none.
std::vector<size_t> splits_of(const std::string& text, const Dataset& data);

}  // namespace spex::cli
