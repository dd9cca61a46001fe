// What a reader should know first, in plain words.
#pragma once

#include <spex/run/record.h>

#include <string>
#include <vector>

namespace spex {

std::vector<std::string> findings(const RunRecord& record);

}  // namespace spex
