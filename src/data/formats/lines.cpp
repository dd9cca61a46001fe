#include "data/formats/lines.h"

#include <spex/core/error.h>
#include <spex/core/files.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace spex {
namespace {

constexpr size_t kPiece = size_t{1} << 20;
constexpr size_t kLongestLine = size_t{1} << 28;

}  // namespace

// Inflates a stream of one or more gzip members and cuts it at line ends.
class LineReader::Gzip {
 public:
  Gzip(std::span<const std::byte> bytes, const std::filesystem::path& path) : path_(path.string()) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
    left_ = bytes.size();
    require(inflateInit2(&stream_, 16 + MAX_WBITS) == Z_OK, "{}: no memory to inflate it", path_);
  }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip() { inflateEnd(&stream_); }

  // Whole lines, or the last one without an end; empty when all is read.
  std::string_view next_lines() {
    text_.erase(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(given_));
    given_ = 0;
    while (!ended_) {
      size_t old = text_.size();
      inflate_piece();
      size_t end = std::string_view(text_.data(), text_.size()).rfind('\n');
      if (end != std::string_view::npos && end >= old) return give(end + 1);
      require(text_.size() <= kLongestLine, "{}: a line is longer than {} bytes", path_,
              kLongestLine);
    }
    return give(text_.size());
  }

 private:
  std::string_view give(size_t count) {
    given_ = count;
    return {text_.data(), count};
  }
  void inflate_piece() {
    size_t old = text_.size();
    text_.resize(old + kPiece);
    stream_.next_out = reinterpret_cast<Bytef*>(text_.data() + old);
    stream_.avail_out = kPiece;
    while (stream_.avail_out > 0 && !ended_) step();
    text_.resize(text_.size() - stream_.avail_out);
  }
  void step() {
    auto offered = static_cast<uInt>(std::min<size_t>(left_, size_t{1} << 30));
    stream_.avail_in = offered;
    int status = inflate(&stream_, Z_NO_FLUSH);
    left_ -= offered - stream_.avail_in;
    if (status == Z_STREAM_END) {
      ended_ = left_ == 0;
      if (!ended_) inflateReset(&stream_);
      return;
    }
    require(status == Z_OK || (status == Z_BUF_ERROR && stream_.avail_out == 0),
            "{}: its gzip stream is {}", path_, left_ == 0 ? "cut short" : "damaged");
  }
  std::string path_;
  z_stream stream_{};
  size_t left_ = 0;
  std::vector<char> text_;
  size_t given_ = 0;
  bool ended_ = false;
};

LineReader::LineReader(LineReader&&) noexcept = default;
LineReader& LineReader::operator=(LineReader&&) noexcept = default;
LineReader::~LineReader() = default;

LineReader LineReader::open(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  LineReader reader = parse(file->bytes(), path);
  reader.owner_ = std::move(file);
  return reader;
}

LineReader LineReader::parse(std::span<const std::byte> bytes, std::filesystem::path path) {
  LineReader reader;
  reader.path_ = std::move(path);
  reader.size_ = bytes.size();
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("\x1f\x8b"))
    reader.gzip_ = std::make_unique<Gzip>(bytes, reader.path_);
  else
    reader.rest_ = text;
  return reader;
}

bool LineReader::more() {
  if (gzip_) rest_ = gzip_->next_lines();
  return !rest_.empty();
}

bool LineReader::next(std::string_view& line) {
  if (rest_.empty() && !more()) return false;
  const char* begin = rest_.data();
  const auto* end = static_cast<const char*>(std::memchr(begin, '\n', rest_.size()));
  size_t length = end ? static_cast<size_t>(end - begin) : rest_.size();
  line = rest_.substr(0, length);
  rest_.remove_prefix(end ? length + 1 : length);
  if (line.ends_with('\r')) line.remove_suffix(1);
  ++line_number_;
  return true;
}

void LineReader::refuse(std::string_view what) const {
  fail("{}, line {}: {}", path_.string(), line_number_, what);
}

}  // namespace spex
