// One program per run directory.
#pragma once

#include <filesystem>

namespace spex {

class RunLock {
 public:
  // Throws if another program holds the lock. The lock ends with the program, however it ends.
  explicit RunLock(const std::filesystem::path& file);
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;
  ~RunLock();

 private:
  int descriptor_;
};

}  // namespace spex
