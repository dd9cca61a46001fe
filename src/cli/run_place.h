// Where `spex train` puts a run, and how it was called.
#pragma once

#include <filesystem>
#include <string>

namespace spex::cli {

inline constexpr const char* kRuns = "runs";

// A folder of its own for a run without --out: runs/DATE-TIME-DATA. To resume: the newest there.
std::filesystem::path default_run(const std::string& data, bool resume);

// Lets runs/latest point to this run, if it stands in a folder called runs. A file or folder of that
// name that is no link is left alone.
void link_latest(const std::filesystem::path& run);

std::string command_line();  // of this program, as a shell would take it

}  // namespace spex::cli
