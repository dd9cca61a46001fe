// The files of the page, put into the program by cmake/embed.cmake.
#pragma once

#include <string_view>

namespace spex::assets {

extern const std::string_view page;            // the template, with {{places}} for the rest
extern const std::string_view style;           // page.css
extern const std::string_view charts;          // Chart.js
extern const std::string_view script;          // our own scripts, main.js last
extern const std::string_view compare_script;  // those of a comparison
extern const std::string_view tune_script;     // those of a search for settings
extern const std::string_view study_script;    // those of studies

}  // namespace spex::assets
