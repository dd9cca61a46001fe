#include "data/formats/npy_header.h"

#include <spex/core/error.h>

#include <charconv>

namespace spex {
namespace {

// A reader of the few Python literals that numpy writes: strings, booleans, tuples of whole
// numbers.
class LiteralReader {
 public:
  LiteralReader(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  bool take(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) refuse(fmt::format("a '{}'", c));
  }
  std::string string() {
    char quote = take('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) refuse("the end of a string");
    std::string value(text_.substr(at_, end - at_));
    at_ = end + 1;
    return value;
  }
  bool boolean() {
    skip_spaces();
    for (std::string_view word : {"True", "False"}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return word == "True";
    }
    refuse("True or False");
  }
  std::vector<size_t> tuple() {
    std::vector<size_t> values;
    expect('(');
    while (!take(')')) {
      values.push_back(number());
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }

 private:
  size_t number() {
    skip_spaces();
    size_t value = 0;
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) refuse("a whole number");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  [[noreturn]] void refuse(const std::string& expected) const {
    fail("{}: its numpy header is broken at character {}, expected {}", where_, at_, expected);
  }
  std::string_view text_;
  const std::string& where_;
  size_t at_ = 0;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& where) {
  LiteralReader reader(text, where);
  NpyHeader header;
  bool has_shape = false;
  reader.expect('{');
  while (!reader.take('}')) {
    std::string key = reader.string();
    reader.expect(':');
    if (key == "descr") {
      // A list here describes records; the bracket is refused below, as no string starts with it.
      header.descr = reader.string();
    } else if (key == "fortran_order") {
      header.fortran_order = reader.boolean();
    } else if (key == "shape") {
      header.shape = reader.tuple();
      has_shape = true;
    } else {
      fail("{}: its numpy header has the unknown key '{}'", where, key);
    }
    if (!reader.take(',')) {
      reader.expect('}');
      break;
    }
  }
  require(has_shape && !header.descr.empty(), "{}: its numpy header has no shape or type", where);
  return header;
}

}  // namespace spex
