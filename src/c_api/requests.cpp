#include "c_api/requests.h"

#include <stdlib.h>

namespace spex::c_api {

namespace fs = std::filesystem;

RunSettings settings_of(const spex_fit_options& options, const std::string& path) {
  RunSettings settings;
  settings.data = path;
  if (options.preset) settings.preset = options.preset;
  if (options.config) settings.config_file = options.config;
  if (options.model) settings.model = options.model;
  for (size_t i = 0; i < options.setting_count; ++i)
    settings.assignments.emplace_back(&given(options.settings[i], "a setting"));
  return settings;
}

std::unique_ptr<spex_run::Directory> directory_of(const char* wanted) {
  using Directory = spex_run::Directory;
  if (wanted && *wanted) return std::make_unique<Directory>(fs::absolute(wanted), false);
  std::string name = fs::temp_directory_path() / "spex-run-XXXXXX";
  require(mkdtemp(name.data()) != nullptr, "cannot make a temporary folder like {}: {}", name,
          std::strerror(errno));
  return std::make_unique<Directory>(name, true);
}

void check_splits(const std::vector<size_t>& splits, const Dataset& data) {
  for (size_t split : splits)
    require(split < data.splits.size(), "there is no split {}: {} stores {}", split, data.name,
            data.splits.size());
}

char* handed_out(const std::string& text) {
  if (text.empty()) return nullptr;
  return std::strcpy(new char[text.size() + 1], text.c_str());
}

}  // namespace spex::c_api

spex_run::Directory::~Directory() {
  std::error_code ignored;
  if (temporary) std::filesystem::remove_all(path, ignored);
}
