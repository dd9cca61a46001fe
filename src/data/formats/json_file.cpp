#include "data/formats/json_file.h"

#include <spex/core/error.h>

#include <unordered_set>

#include "data/formats/lines.h"

namespace spex {

JsonFile JsonFile::open(const std::filesystem::path& path) {
  return read(TextFile::open(path));
}

JsonFile JsonFile::read(const TextFile& file) {
  if (!file.is_gzip()) return parse(file.bytes, file.path);
  std::string text = file.inflated();
  return parse(std::as_bytes(std::span(text)), file.path);
}

JsonFile JsonFile::parse(std::span<const std::byte> bytes, std::filesystem::path path) {
  JsonFile file{std::move(path), {}};
  const char* text = reinterpret_cast<const char*>(bytes.data());
  // The parser keeps the last of two equal keys; a node that is described twice is refused.
  std::unordered_set<std::string> keys;
  auto refuse_twice = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    if (depth == 1 && event == nlohmann::json::parse_event_t::key &&
        !keys.insert(value.get_ref<const std::string&>()).second)
      file.refuse("the key '" + value.get<std::string>() + "' comes a second time");
    return true;
  };
  try {
    file.root = nlohmann::json::parse(text, text + bytes.size(), refuse_twice);
  } catch (const nlohmann::json::parse_error& error) {
    file.refuse(
        fmt::format("is not whole JSON, or more than one value: it breaks at byte {}", error.byte));
  } catch (const nlohmann::json::exception&) {  // a number beyond all bounds
    file.refuse("is JSON with a number that no type holds");
  }
  return file;
}

const nlohmann::json& JsonFile::array(const char* key) const {
  auto found = root.is_object() ? root.find(key) : root.end();
  if (!root.is_object() || found == root.end() || !found->is_array())
    refuse(fmt::format("has no list '{}'", key));
  return *found;
}

void JsonFile::refuse(std::string_view what) const {
  fail("{}: {}", path.string(), what);
}

}  // namespace spex
