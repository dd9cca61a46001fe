// The options that the commands that train share.
#pragma once

#include <spex/run/settings.h>

#include <string>

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace spex::cli {

struct Settings : RunSettings {
  bool quiet = false;
};

// For the check() of options that take a number. Unchecked, -1 would be read as the largest number
// there is.
CLI::Validator within(const Range& range);

void add_settings(CLI::App& app, Settings& settings);
void add_trainings(CLI::App& app, Settings& settings);  // how many

std::vector<std::string> words_of(const std::string& list);  // "a,b" to a and b

// The same of models; throws unless there are such, each named once.
std::vector<std::string> models_of(const std::string& list);

// "all", or numbers such as 0,3,5; empty: none.
std::vector<size_t> splits_of(const std::string& text, const Dataset& data);

}  // namespace spex::cli
