// Files that are either whole or not there, and files read through the page cache.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

namespace spex {

// A read-only mapping of a whole file. Pages become resident when they are touched.
class MappedFile {
 public:
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  MappedFile(std::filesystem::path path, std::span<const std::byte> bytes)
      : path_(std::move(path)), bytes_(bytes) {}
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

// Those of these bytes that are a mapped file's leave the process, and are read again when they are
// touched; others stay as they are.
void give_back_pages(std::span<const std::byte> bytes);

std::string read_text(const std::filesystem::path& path);

// Writes beside the name, syncs, and renames: after a crash the old file is there, or the new one.
// Links are followed, and a file that is replaced keeps its owner and mode. Only files are replaced:
// what is written to a pipe or a character device goes into it.
void write_atomically(const std::filesystem::path& path,
                      const std::function<void(std::ostream&)>& write);
void write_text(const std::filesystem::path& path, std::string_view text);

// At the end of a file that others may be reading; made if it is not there. Not synced.
void append_text(const std::filesystem::path& path, std::string_view text);

}  // namespace spex
