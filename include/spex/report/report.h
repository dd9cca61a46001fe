// The pages of a run, of a comparison, of a search for settings and of studies: HTML files that need
// nothing else, no network included.
#pragma once

#include <spex/run/compare.h>
#include <spex/run/tune.h>
#include <spex/study/record.h>

#include <filesystem>
#include <string>
#include <vector>

namespace spex {

std::string render_report(const RunRecord& record);

// Reads the files of a finished run, or of all studies in a folder and the folders in it, and
// writes report.html beside them.
void write_report(const std::filesystem::path& folder);

// The page of a comparison: compare.html.
std::string render_comparison(const Comparison& comparison);

// The page of a search for settings: tune.html.
std::string render_tuning(const Tuning& tuning);

// One study, or all of a folder, on one page.
std::string render_studies(const std::vector<StudyRecord>& studies);

}  // namespace spex
