// Looks at every size in a MATLAB 5 file before matio does: matio believes them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>

namespace spex {

struct MatVariable {
  bool sparse = false;
  size_t rows = 0;
  size_t cols = 0;
};

// The variables by name. Throws unless the file is little-endian MATLAB 5, each element lies inside
// its parent, and each array has as many values as its extents say. Only real numeric arrays of two
// dimensions pass, dense or sparse.
std::map<std::string, MatVariable> check_mat(std::span<const std::byte> bytes,
                                             const std::filesystem::path& path);

}  // namespace spex
