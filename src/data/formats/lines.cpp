#include "data/formats/lines.h"

#include <spex/core/error.h>
#include <spex/core/files.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

namespace spex {
namespace {

constexpr size_t kPiece = size_t{1} << 20;
constexpr size_t kLongestLine = size_t{1} << 28;
constexpr size_t kPagesKept = size_t{1} << 26;  // bytes of a mapping that stay behind the reader

std::string_view without_mark(std::string_view text, const std::filesystem::path& path) {
  require(!text.starts_with("\xff\xfe") && !text.starts_with("\xfe\xff"),
          "{} is UTF-16 text; save it as UTF-8", path.string());
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return text;
}

// Old files end their lines with CR alone: then there is no LF at all.
char find_line_end(std::string_view start) {
  bool only_cr =
      start.find('\n') == std::string_view::npos && start.find('\r') != std::string_view::npos;
  return only_cr ? '\r' : '\n';
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

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

  size_t left() const { return left_; }  // bytes not yet inflated
  const char* position() const { return reinterpret_cast<const char*>(stream_.next_in); }

  // Whole lines, or the last one without an end; empty when all is read.
  std::string_view next_lines(char line_end) {
    text_.erase(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(given_));
    given_ = 0;
    while (!ended_ || !text_.empty()) {
      if (!ended_) inflate_piece();
      size_t end = std::string_view(text_.data(), text_.size()).rfind(line_end);
      if (end != std::string_view::npos) return give(end + 1);
      if (ended_) break;
      require(text_.size() <= kLongestLine, "{}: a line is longer than {} bytes", path_,
              kLongestLine);
    }
    return give(text_.size());
  }
  // The start of the text; it will be given again.
  std::string_view peek(size_t count) {
    while (!ended_ && text_.size() < count) inflate_piece();
    return {text_.data(), std::min(count, text_.size())};
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

TextFile TextFile::open(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  return {path, file->bytes(), file};
}

bool TextFile::is_gzip() const {
  return as_text(bytes).starts_with("\x1f\x8b");
}

std::string TextFile::head(size_t count) const {
  if (!is_gzip()) return std::string(without_mark(as_text(bytes).substr(0, count + 3), path));
  return std::string(without_mark(LineReader::Gzip(bytes, path).peek(count), path));
}

std::string TextFile::inflated() const {
  return std::string(LineReader::Gzip(bytes, path).peek(SIZE_MAX));
}

LineReader::LineReader(const TextFile& file)
    : path_(file.path),
      mapping_(file.mapping),
      kept_from_(as_text(file.bytes).data()),
      size_(file.bytes.size()) {
  if (file.is_gzip()) {
    gzip_ = std::make_unique<Gzip>(file.bytes, path_);
    line_end_ = find_line_end(gzip_->peek(kPiece));
    more();
  } else {
    rest_ = as_text(file.bytes);
    line_end_ = find_line_end(rest_.substr(0, kPiece));
  }
  rest_ = without_mark(rest_, path_);
}

bool LineReader::more() {
  if (gzip_) {
    rest_ = gzip_->next_lines(line_end_);
    give_back_pages_before(gzip_->position());
  }
  return !rest_.empty();
}

bool LineReader::next(std::string_view& line) {
  if (rest_.empty() && !more()) return false;
  const char* begin = rest_.data();
  if (!gzip_) give_back_pages_before(begin);
  const auto* end = static_cast<const char*>(std::memchr(begin, line_end_, rest_.size()));
  size_t length = end ? static_cast<size_t>(end - begin) : rest_.size();
  line = rest_.substr(0, length);
  rest_.remove_prefix(end ? length + 1 : length);
  if (line.ends_with('\r')) line.remove_suffix(1);
  ++line_number_;
  return true;
}

void LineReader::give_back_pages_before(const char* read) {
  if (read - kept_from_ <= static_cast<std::ptrdiff_t>(kPagesKept)) return;
  give_back_pages(std::as_bytes(std::span(kept_from_, read)));
  kept_from_ = read;
}

double LineReader::share_read() const {
  size_t left = gzip_ ? gzip_->left() : rest_.size();
  return size_ == 0 ? 1.0 : 1.0 - static_cast<double>(left) / static_cast<double>(size_);
}

void LineReader::refuse(std::string_view what) const {
  fail("{}, line {}: {}", path_.string(), line_number_, what);
}

}  // namespace spex
