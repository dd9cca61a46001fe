// What trainings, comparisons and searches have in common: the caller's settings, where the runs
// stand, and text that is given away.
#pragma once

#include <spex/run/settings.h>

#include <memory>
#include <string>
#include <vector>

#include "c_api/handles.h"

namespace spex::c_api {

RunSettings settings_of(const spex_fit_options& options, const std::string& path);
// The folder that is wanted, or a temporary one.
std::unique_ptr<spex_run::Directory> directory_of(const char* wanted);
void check_splits(const std::vector<size_t>& splits, const Dataset& data);
// A copy for spex_text_free; NULL for an empty text.
char* handed_out(const std::string& text);

}  // namespace spex::c_api
