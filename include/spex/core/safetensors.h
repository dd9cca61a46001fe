// The one container format: named arrays behind a JSON header (https://github.com/huggingface/
// safetensors). A file is mapped, and arrays are views into the mapping: opening costs nothing,
// however large the file. Header, shapes and offsets are checked against the file's size first.
//
//   8 bytes    length of the header, little-endian
//   header     {"__metadata__": {..},
//               "name": {"dtype": "F32", "shape": [..], "data_offsets": [..]}, ..}
//   data       the arrays, without holes
//
// What we write starts its data at a multiple of 64 bytes and puts wide types first, so that every
// array is aligned to its type. Files of others may be less kind: a misaligned array is copied.
#pragma once

#include <spex/core/memory.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace spex {

// In the order in which a file stores them: wide types first.
enum class Dtype : uint8_t { f64, i64, u64, f32, i32, u32, f16, bf16, i16, u16, i8, u8, boolean };

std::string_view name(Dtype dtype);  // as in the header: "F32"
size_t byte_size(Dtype dtype);
std::string join_shape(std::span<const size_t> shape);  // "3 x 4", for messages

namespace detail {
// Whether arrays of `dtype` may be seen as T. 16-bit floats are seen as their bits, uint16_t.
template <class T>
constexpr bool matches(Dtype dtype) {
  if constexpr (std::is_same_v<T, double>) return dtype == Dtype::f64;
  if constexpr (std::is_same_v<T, float>) return dtype == Dtype::f32;
  if constexpr (std::is_same_v<T, int64_t>) return dtype == Dtype::i64;
  if constexpr (std::is_same_v<T, uint64_t>) return dtype == Dtype::u64;
  if constexpr (std::is_same_v<T, int32_t>) return dtype == Dtype::i32;
  if constexpr (std::is_same_v<T, uint32_t>) return dtype == Dtype::u32;
  if constexpr (std::is_same_v<T, int16_t>) return dtype == Dtype::i16;
  if constexpr (std::is_same_v<T, uint16_t>)
    return dtype == Dtype::u16 || dtype == Dtype::f16 || dtype == Dtype::bf16;
  if constexpr (std::is_same_v<T, int8_t>) return dtype == Dtype::i8;
  if constexpr (std::is_same_v<T, uint8_t>) return dtype == Dtype::u8 || dtype == Dtype::boolean;
  return false;
}
}  // namespace detail

struct TensorInfo {
  Dtype dtype = Dtype::f32;
  std::vector<size_t> shape;
  std::span<const std::byte> bytes;  // in the mapping
  size_t count() const { return bytes.size() / byte_size(dtype); }
};

class Safetensors {
 public:
  static Safetensors open(const std::filesystem::path& path);
  // The same on bytes that `owner` keeps alive; `path` is for messages.
  static Safetensors parse(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                           std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::map<std::string, TensorInfo>& tensors() const { return tensors_; }
  bool contains(const std::string& tensor) const { return tensors_.contains(tensor); }
  const TensorInfo& info(const std::string& tensor) const;  // throws if there is none

  // The array as values of T, in row-major order; throws if it has another type.
  template <class T>
  SharedArray<T> array(const std::string& tensor) const {
    const TensorInfo& found = info(tensor);
    if (!detail::matches<T>(found.dtype)) refuse_type(tensor, found, sizeof(T));
    if (reinterpret_cast<uintptr_t>(found.bytes.data()) % alignof(T) != 0) {
      Buffer<T> copy(found.count(), MemoryTag::other);
      std::copy(found.bytes.begin(), found.bytes.end(), reinterpret_cast<std::byte*>(copy.data()));
      return SharedArray<T>(std::move(copy));
    }
    return {{reinterpret_cast<const T*>(found.bytes.data()), found.count()}, owner_};
  }
  // The same, and throws unless the shape is this one.
  template <class T>
  SharedArray<T> array(const std::string& tensor, std::span<const size_t> shape) const {
    check_shape(tensor, shape);
    return array<T>(tensor);
  }
  template <class T>
  SharedArray<T> array(const std::string& tensor, std::initializer_list<size_t> shape) const {
    return array<T>(tensor, std::span(shape.begin(), shape.size()));
  }

 private:
  void check_shape(const std::string& tensor, std::span<const size_t> shape) const;
  [[noreturn]] void refuse_type(const std::string& tensor, const TensorInfo& info,
                                size_t wanted_bytes) const;
  std::filesystem::path path_;
  std::shared_ptr<const void> owner_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, TensorInfo> tensors_;
};

// An array to be written; its values stay the caller's.
struct TensorSource {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<size_t> shape;
  std::span<const std::byte> bytes;
};

// tensor<float>("weight", values, {rows, cols}); 16-bit floats are uint16_t with Dtype::f16.
template <class T>
TensorSource tensor(std::string name, std::span<const T> values, std::vector<size_t> shape,
                    Dtype dtype) {
  return {std::move(name), dtype, std::move(shape), std::as_bytes(values)};
}
template <class T>
TensorSource tensor(std::string name, std::span<const T> values, std::vector<size_t> shape) {
  constexpr Dtype kAll[] = {Dtype::f64, Dtype::i64, Dtype::u64, Dtype::f32, Dtype::i32,
                            Dtype::u32, Dtype::i16, Dtype::u16, Dtype::i8,  Dtype::u8};
  Dtype found = Dtype::f32;
  for (Dtype dtype : kAll)
    if (detail::matches<T>(dtype)) found = dtype;
  return tensor(std::move(name), values, std::move(shape), found);
}

// Atomic: after a crash the old file is there, or the new one. Throws if a shape and its bytes
// disagree or a name comes twice.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorSource> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace spex
