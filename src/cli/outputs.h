// Files that a command writes, and those it reads.
#pragma once

#include <filesystem>
#include <vector>

namespace spex::cli {

// Throws if writing `out` would replace an input, or a file inside an input that is a folder.
void refuse_overwriting(const std::filesystem::path& out,
                        const std::vector<std::filesystem::path>& inputs);

}  // namespace spex::cli
