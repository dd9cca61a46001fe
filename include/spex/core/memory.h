// Large buffers and what they cost. Every large allocation of the library is a Buffer: 64-byte
// aligned, on huge pages when it is large, counted under a tag. Freed blocks are kept, so that a
// training step after the first asks the system for nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace spex {

enum class MemoryTag : uint8_t {
  features,
  activations,
  gradients,
  parameters,
  graph,
  scores,
  other
};
inline constexpr size_t kMemoryTags = 7;
std::string_view name(MemoryTag tag);

// Bytes asked for and not yet given back, and the largest that ever was since the last reset.
struct MemoryUse {
  size_t current = 0;
  size_t peak = 0;
};

MemoryUse memory_use(MemoryTag tag);
MemoryUse memory_use();     // all tags together
void reset_memory_peaks();  // peaks start again from the current use
void trim_memory();         // gives freed blocks back to the system

// What the system says of this process.
struct ResidentMemory {
  size_t peak = 0;         // VmHWM
  size_t anonymous = 0;    // RssAnon
  size_t file_backed = 0;  // RssFile
};
ResidentMemory resident_memory();

namespace detail {
void* allocate(size_t bytes, MemoryTag tag);
void release(void* pointer, size_t bytes, MemoryTag tag) noexcept;
}  // namespace detail

// A fixed-size array of plain values; contents are not initialised.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  Buffer(size_t size, MemoryTag tag)
      : data_(size ? static_cast<T*>(detail::allocate(size * sizeof(T), tag)) : nullptr),
        size_(size),
        tag_(tag) {}
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        tag_(other.tag_) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(tag_, other.tag_);
    return *this;
  }
  ~Buffer() {
    if (data_) detail::release(data_, size_ * sizeof(T), tag_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
  MemoryTag tag_ = MemoryTag::other;
};

// Immutable values that somebody keeps alive: a Buffer, or a mapped file. Cheap to copy.
template <class T>
class SharedArray {
 public:
  SharedArray() = default;
  SharedArray(Buffer<T> buffer) {  // NOLINT: a buffer that nobody will change any more
    auto owner = std::make_shared<Buffer<T>>(std::move(buffer));
    values_ = std::as_const(*owner).span();
    owner_ = std::move(owner);
  }
  SharedArray(std::span<const T> values, std::shared_ptr<const void> owner)
      : values_(values), owner_(std::move(owner)) {}

  const T* data() const { return values_.data(); }
  size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  const T& operator[](size_t i) const { return values_[i]; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }
  std::span<const T> span() const { return values_; }

 private:
  std::span<const T> values_;
  std::shared_ptr<const void> owner_;
};

}  // namespace spex
