#include "cli/outputs.h"

#include <spex/core/error.h>

namespace spex::cli {

void refuse_overwriting(const std::filesystem::path& out,
                        const std::vector<std::filesystem::path>& inputs) {
  namespace fs = std::filesystem;
  std::error_code none;
  if (!fs::is_regular_file(out, none)) return;
  fs::path file = fs::canonical(out, none);
  for (const fs::path& input : inputs) {
    bool same = fs::equivalent(out, input, none) ||
                (fs::is_directory(input, none) && file.parent_path() == fs::canonical(input, none));
    require(!same, "{} is part of the input, and would be overwritten; give another name",
            out.string());
  }
}

}  // namespace spex::cli
