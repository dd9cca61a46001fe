#include <spex/core/json_list.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace spex {

std::string to_json_list(const std::vector<std::string>& texts) {
  return nlohmann::json(texts).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<std::vector<std::string>> parse_json_list(const std::string& json) {
  auto parsed = nlohmann::json::parse(json, nullptr, false);
  auto is_text = [](const nlohmann::json& entry) { return entry.is_string(); };
  if (!parsed.is_array() || !std::all_of(parsed.begin(), parsed.end(), is_text)) return {};
  return parsed.get<std::vector<std::string>>();
}

}  // namespace spex
