#include "data/formats/npy.h"

#include <spex/core/error.h>
#include <spex/core/safetensors.h>

#include <cmath>
#include <cstring>

#include "data/formats/npy_header.h"

namespace spex {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// Width in bytes of a value; the type of a string counts characters, of four bytes if Unicode.
size_t value_width(std::string_view descr, const std::string& where) {
  require(descr.size() < 2 || descr[1] != 'O',
          "{}: holds Python objects, expected numbers; save it as a plain array", where);
  require(descr.size() >= 3, "{}: the type '{}' is not one we read", where, descr);
  char order = descr[0], kind = descr[1];
  size_t count = 0;
  for (char digit : descr.substr(2)) {
    require(digit >= '0' && digit <= '9' && count < 100000, "{}: the type '{}' is not one we read",
            where, descr);
    count = count * 10 + static_cast<size_t>(digit - '0');
  }
  size_t width = kind == 'U' ? count * 4 : count;
  require(order != '>' || width == 1, "{}: holds big-endian values ('{}'), expected little-endian",
          where, descr);
  bool number =
      (kind == 'f' && (count == 2 || count == 4 || count == 8)) ||
      ((kind == 'i' || kind == 'u') && (count == 1 || count == 2 || count == 4 || count == 8)) ||
      (kind == 'b' && count == 1);
  require((number || ((kind == 'U' || kind == 'S') && count > 0)) &&
              (order == '<' || order == '|' || order == '=' || width == 1),
          "{}: the type '{}' is not one we read", where, descr);
  return width;
}

std::string_view header_of(std::span<const std::byte> bytes, size_t& data_start,
                           const std::string& where) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  require(text.size() >= 12 && text.starts_with(kMagic), "{}: is not a numpy array", where);
  auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(text[i])); };
  size_t version = byte(6), length = byte(8) | byte(9) << 8, start = 10;
  require(version >= 1 && version <= 3, "{}: numpy format {} is not known", where, version);
  if (version >= 2) {
    length |= byte(10) << 16 | byte(11) << 24;
    start = 12;
  }
  require(length <= text.size() - start, "{}: is cut short in its header", where);
  data_start = start + length;
  return text.substr(start, length);
}

float half_to_float(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  float sign = bits >> 15 ? -1.0F : 1.0F;
  if (exponent == 31) return mantissa ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 63));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 63));
    out += static_cast<char>(0x80 | (code & 63));
  } else {
    out += static_cast<char>(0xf0 | (code >> 18 & 7));
    out += static_cast<char>(0x80 | (code >> 12 & 63));
    out += static_cast<char>(0x80 | (code >> 6 & 63));
    out += static_cast<char>(0x80 | (code & 63));
  }
}

}  // namespace

NpyArray NpyArray::parse(std::span<const std::byte> bytes, std::string where) {
  NpyArray array;
  size_t start = 0;
  NpyHeader header = parse_npy_header(header_of(bytes, start, where), where);
  array.width_ = value_width(header.descr, where);
  array.type_ = header.descr.substr(1);
  array.fortran_ = header.fortran_order && header.shape.size() == 2;
  require(header.shape.size() <= 2, "{}: has {} dimensions, expected one or two", where,
          header.shape.size());
  array.size_ = 1;
  size_t total = array.width_;
  for (size_t extent : header.shape) {
    require(!__builtin_mul_overflow(total, extent, &total), "{}: has an absurd shape", where);
    array.size_ *= extent;
  }
  require(total == bytes.size() - start, "{}: {} of {} is {} bytes, but {} are there", where,
          join_shape(header.shape), header.descr, total, bytes.size() - start);
  array.shape_ = std::move(header.shape);
  array.data_ = bytes.subspan(start);
  array.where_ = std::move(where);
  return array;
}

template <class T>
T NpyArray::at(size_t index) const {
  T value;
  std::memcpy(&value, data_.data() + index * width_, sizeof(T));
  return value;
}

size_t NpyArray::stored_index(size_t row_major) const {
  if (!fortran_) return row_major;
  return row_major % cols() * rows() + row_major / cols();
}

template <class Visit>
void NpyArray::visit_numbers(Visit&& visit) const {
  auto run = [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < size_; ++i) visit(i, at<T>(stored_index(i)));
  };
  if (type_ == "f4") return run(float{});
  if (type_ == "f8") return run(double{});
  if (type_ == "i8") return run(int64_t{});
  if (type_ == "i4") return run(int32_t{});
  if (type_ == "i2") return run(int16_t{});
  if (type_ == "i1") return run(int8_t{});
  if (type_ == "u8") return run(uint64_t{});
  if (type_ == "u4") return run(uint32_t{});
  if (type_ == "u2") return run(uint16_t{});
  if (type_ == "u1" || type_ == "b1") return run(uint8_t{});
  require(type_ == "f2", "{}: holds text, expected numbers", where_);
  for (size_t i = 0; i < size_; ++i) visit(i, half_to_float(at<uint16_t>(stored_index(i))));
}

Buffer<float> NpyArray::floats() const {
  Buffer<float> values(size_, MemoryTag::features);
  visit_numbers([&](size_t i, auto value) { values[i] = static_cast<float>(value); });
  return values;
}

std::vector<double> NpyArray::doubles() const {
  std::vector<double> values(size_);
  visit_numbers([&](size_t i, auto value) { values[i] = static_cast<double>(value); });
  return values;
}

std::vector<int64_t> NpyArray::integers() const {
  std::vector<int64_t> values(size_);
  visit_numbers([&](size_t i, auto value) {
    if constexpr (std::is_floating_point_v<decltype(value)>)
      require(std::abs(value) < 9e15 && value == std::floor(value),
              "{}: value {} is {}, expected a whole number", where_, i, value);
    values[i] = static_cast<int64_t>(value);
  });
  return values;
}

std::vector<uint8_t> NpyArray::mask() const {
  std::vector<uint8_t> values(size_);
  visit_numbers([&](size_t i, auto value) {
    require(value == 0 || value == 1, "{}: value {} of a mask is {}, expected 0 or 1", where_, i,
            value);
    values[i] = static_cast<uint8_t>(value);
  });
  return values;
}

std::vector<std::string> NpyArray::strings() const {
  require(is_text(), "{}: holds numbers, expected text", where_);
  std::vector<std::string> values(size_);
  for (size_t i = 0; i < size_; ++i) {
    const std::byte* from = data_.data() + i * width_;
    size_t step = type_[0] == 'U' ? 4 : 1;
    for (size_t c = 0; c < width_; c += step) {
      uint32_t code = 0;
      std::memcpy(&code, from + c, step);
      if (code == 0) break;
      append_utf8(values[i], code);
    }
  }
  return values;
}

}  // namespace spex
