// A JSON file, parsed, with refusals that name it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

namespace spex {

struct TextFile;

struct JsonFile {
  static JsonFile open(const std::filesystem::path& path);
  static JsonFile read(const TextFile& file);  // plain or gzip
  static JsonFile parse(std::span<const std::byte> bytes, std::filesystem::path path);

  // The member of the top-level object, which must be an array.
  const nlohmann::json& array(const char* key) const;
  [[noreturn]] void refuse(std::string_view what) const;  // "PATH: WHAT"

  std::filesystem::path path;
  nlohmann::json root;
};

}  // namespace spex
