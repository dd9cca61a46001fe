// An array that grows at its end without ever being there twice: large blocks are moved by the
// system's page tables (realloc), not copied, and what is reserved but not used is not resident.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace spex {

template <class T>
class Growing {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Growing() = default;
  Growing(Growing&& other) noexcept { swap(other); }
  Growing& operator=(Growing&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Growing() { std::free(data_); }

  void push_back(T value) {
    if (size_ == capacity_) reserve(std::max<size_t>(1024, capacity_ + capacity_ / 2));
    data_[size_++] = value;
  }
  void reserve(size_t capacity) {
    if (capacity <= capacity_) return;
    void* moved = std::realloc(data_, capacity * sizeof(T));
    if (!moved) throw std::bad_alloc();
    data_ = static_cast<T*>(moved);
    capacity_ = capacity;
  }
  void resize(size_t size) {  // new values are zero
    reserve(size);
    if (size > size_) std::fill(data_ + size_, data_ + size, T{});
    size_ = size;
  }
  template <class Iterator>
  void assign(Iterator begin, Iterator end) {
    resize(static_cast<size_t>(std::distance(begin, end)));
    std::transform(begin, end, data_, [](auto value) { return static_cast<T>(value); });
  }

  T* data() { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }

 private:
  void swap(Growing& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }
  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace spex
