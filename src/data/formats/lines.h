// The lines of a text file, plain or gzip. A plain file is read where it is mapped; a gzip file is
// inflated piece by piece, so that memory holds one piece, however large the text.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace spex {

class LineReader {
 public:
  static LineReader open(const std::filesystem::path& path);
  static LineReader parse(std::span<const std::byte> bytes, std::filesystem::path path);
  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) noexcept;
  ~LineReader();

  // The next line without its end; valid until the next call. False after the last one.
  bool next(std::string_view& line);
  size_t line_number() const { return line_number_; }  // of the last line given, from 1
  const std::filesystem::path& path() const { return path_; }
  size_t bytes() const { return size_; }  // of the file, before inflating

  // Throws "PATH, line N: WHAT".
  [[noreturn]] void refuse(std::string_view what) const;

 private:
  class Gzip;
  LineReader() = default;
  bool more();  // puts whole lines, at least one, into rest_; false at the end
  std::filesystem::path path_;
  std::shared_ptr<const void> owner_;
  std::unique_ptr<Gzip> gzip_;
  std::string_view rest_;
  size_t size_ = 0;
  size_t line_number_ = 0;
};

}  // namespace spex
