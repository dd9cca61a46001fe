// The files of configs/, built into the library.
#pragma once

#include <string_view>
#include <vector>

namespace spex {

struct Preset {
  std::string_view name;
  std::string_view toml;
};

const std::vector<Preset>& presets();  // by name, ascending

}  // namespace spex
