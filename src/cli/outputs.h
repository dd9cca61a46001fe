// Files that a command writes, and those it reads.
#pragma once

#include <filesystem>
#include <vector>

namespace spex::cli {

// Before any work is done for it: throws if `out` cannot be written, or if that would replace an
// input or a file inside an input that is a folder.
void check_output(const std::filesystem::path& out,
                  const std::vector<std::filesystem::path>& inputs);

}  // namespace spex::cli
