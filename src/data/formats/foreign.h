// Formats that are not read, and what to do about it.
#pragma once

#include <filesystem>
#include <string_view>

namespace spex {

// Throws if the text is of such a format, or not what the file's name says: otherwise it would be
// taken for an edge list. `start` is the first characters, inflated.
void refuse_foreign(const std::filesystem::path& path, std::string_view start);

}  // namespace spex
