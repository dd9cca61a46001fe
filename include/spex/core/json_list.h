// A list of texts as JSON, for metadata that hold one. Keeps the JSON library out of the files that
// need no more than this.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace spex {

// ["a","b"]. Bytes that are not UTF-8 are replaced, since JSON cannot hold them.
std::string to_json_list(const std::vector<std::string>& texts);

// Nothing if `json` is no JSON list of texts.
std::optional<std::vector<std::string>> parse_json_list(const std::string& json);

}  // namespace spex
