// The lines of a text file, plain or gzip, ended by LF, CR LF or CR, with or without the mark that
// spreadsheets put before UTF-8. A plain file is read where it is mapped, and pages that were read
// are given back; a gzip file is inflated piece by piece. So memory holds one piece, however large
// the text.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace spex {

// A file, or bytes that take the place of one: what can be read more than once.
struct TextFile {
  static TextFile open(const std::filesystem::path& path);

  std::filesystem::path path;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> mapping;  // of `bytes`, if they are a file's

  bool is_gzip() const;
  std::string head(size_t count) const;  // the first characters, inflated and without a mark
  std::string inflated() const;          // all of it, of gzip
};

class LineReader {
 public:
  explicit LineReader(const TextFile& file);
  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) noexcept;
  ~LineReader();

  // The next line without its end; valid until the next call. False after the last one.
  bool next(std::string_view& line);
  size_t line_number() const { return line_number_; }  // of the last line given, from 1
  const std::filesystem::path& path() const { return path_; }
  size_t bytes() const { return size_; }  // of the file, before inflating
  double share_read() const;              // of these bytes, from 0 to 1

  // Throws "PATH, line N: WHAT".
  [[noreturn]] void refuse(std::string_view what) const;

 private:
  friend struct TextFile;
  class Gzip;
  bool more();  // puts whole lines, at least one, into rest_; false at the end
  void give_back_pages_before(const char* read);
  std::filesystem::path path_;
  std::shared_ptr<const void> mapping_;
  std::unique_ptr<Gzip> gzip_;
  std::string_view rest_;
  const char* kept_from_ = nullptr;  // pages before this were given back
  char line_end_ = '\n';
  size_t size_ = 0;
  size_t line_number_ = 0;
};

}  // namespace spex
