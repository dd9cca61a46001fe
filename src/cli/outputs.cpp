#include "cli/outputs.h"

#include <spex/core/error.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace spex::cli {

void check_output(const std::filesystem::path& out,
                  const std::vector<std::filesystem::path>& inputs) {
  namespace fs = std::filesystem;
  std::error_code none;
  fs::path folder = out.has_parent_path() ? out.parent_path() : fs::path(".");
  require(!fs::is_directory(out, none), "cannot write {}: it is a folder, not a file",
          out.string());
  if (!fs::exists(out, none) && ::access(folder.c_str(), W_OK) != 0)
    fail("cannot write {}: {}", out.string(), std::strerror(errno));
  if (!fs::is_regular_file(out, none)) return;
  for (const fs::path& input : inputs)
    for (fs::path part = fs::canonical(out, none); part.has_relative_path();
         part = part.parent_path())
      require(!fs::equivalent(part, input, none),
              "{} is part of the input, and would be overwritten; give another name", out.string());
}

}  // namespace spex::cli
