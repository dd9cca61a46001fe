// A folder that lasts as long as this object.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

namespace spex::testing_support {

class TemporaryFolder {
 public:
  TemporaryFolder()
      : path(std::filesystem::temp_directory_path() /
             ("spex_test_" + std::to_string(::getpid()) + "_" + std::to_string(count_++))) {
    std::filesystem::create_directories(path);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }

  std::filesystem::path operator/(const std::string& name) const { return path / name; }

  const std::filesystem::path path;

 private:
  static inline int count_ = 0;
};

}  // namespace spex::testing_support
