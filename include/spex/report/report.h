// The pages of a run, of a comparison and of a search for settings: HTML files that need nothing else, no network included.
#pragma once

#include <spex/run/compare.h>
#include <spex/run/tune.h>

#include <filesystem>
#include <string>

namespace spex {

std::string render_report(const RunRecord& record);

// Reads the files of a finished run and writes report.html beside them.
void write_report(const std::filesystem::path& run);

// The page of a comparison: compare.html.
std::string render_comparison(const Comparison& comparison);

// The page of a search for settings: tune.html.
std::string render_tuning(const Tuning& tuning);

}  // namespace spex
