// The page of a run: one HTML file that needs nothing else, no network included.
#pragma once

#include <spex/run/record.h>

#include <filesystem>
#include <string>

namespace spex {

std::string render_report(const RunRecord& record);

// Reads the files of a finished run and writes report.html beside them.
void write_report(const std::filesystem::path& run);

}  // namespace spex
