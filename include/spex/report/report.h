// The pages of a run and of a comparison: HTML files that need nothing else, no network included.
#pragma once

#include <spex/run/compare.h>

#include <filesystem>
#include <string>

namespace spex {

std::string render_report(const RunRecord& record);

// Reads the files of a finished run and writes report.html beside them.
void write_report(const std::filesystem::path& run);

// The page of a comparison: compare.html.
std::string render_comparison(const Comparison& comparison);

}  // namespace spex
