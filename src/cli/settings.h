// The options that `spex train`, `spex estimate` and `spex compare` share.
#pragma once

#include <spex/run/settings.h>

#include <string>

namespace CLI {
class App;
}

namespace spex::cli {

// For the check() of options that take a number; empty is consent. Unchecked, -1 would be read as
// the largest number there is.
std::string refuse_negative(const std::string& number);

void add_settings(CLI::App& app, RunSettings& settings);

}  // namespace spex::cli
