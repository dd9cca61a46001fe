#include "cli/outputs.h"

#include <spex/core/error.h>

namespace spex::cli {

void refuse_overwriting(const std::filesystem::path& out,
                        const std::vector<std::filesystem::path>& inputs) {
  namespace fs = std::filesystem;
  std::error_code none;
  if (!fs::is_regular_file(out, none)) return;
  for (const fs::path& input : inputs)
    for (fs::path part = fs::canonical(out, none); part.has_relative_path();
         part = part.parent_path())
      require(!fs::equivalent(part, input, none),
              "{} is part of the input, and would be overwritten; give another name", out.string());
}

}  // namespace spex::cli
