// A heap for large blocks. A block is cut from the smallest free range it fits, and a freed block
// joins the free ranges beside it, so that blocks of all sizes reuse the same memory and the
// process stays little larger than what it holds. The memory is on huge pages.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace spex {

class Heap {
 public:
  void* allocate(size_t bytes);  // aligned to a cache line
  void release(void* block, size_t bytes);
  void trim();  // gives the memory of free ranges back to the system

 private:
  void add(std::byte* begin, size_t bytes);
  void remove(std::map<std::byte*, size_t>::iterator range);
  void grow(size_t bytes);

  std::mutex mutex_;
  std::map<std::byte*, size_t> by_address_;
  std::set<std::pair<size_t, std::byte*>> by_size_;
};

}  // namespace spex
