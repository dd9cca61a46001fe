#include "core/heap.h"

#include <spex/core/error.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(begin, bytes)
#define ASAN_UNPOISON_MEMORY_REGION(begin, bytes)
#endif

namespace spex {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kHugePage = size_t{2} << 20;
// Addresses are taken in advance, memory only when it is written to: few regions, few gaps. The
// sanitizer writes an eighth of it to keep its books.
#ifdef __SANITIZE_ADDRESS__
constexpr size_t kRegion = size_t{64} << 20;
#else
constexpr size_t kRegion = size_t{16} << 30;
#endif

constexpr size_t round_up(size_t bytes, size_t to) {
  return (bytes + to - 1) / to * to;
}

// What the machine has, swap included.
size_t all_memory() {
  struct sysinfo info {};
  if (sysinfo(&info) != 0) return SIZE_MAX;
  return (info.totalram + info.totalswap) * info.mem_unit;
}

void* reserve(size_t bytes) {
  void* region = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return region == MAP_FAILED ? nullptr : region;
}

}  // namespace

void* Heap::allocate(size_t bytes) {
  bytes = round_up(bytes, kLine);
  std::lock_guard lock(mutex_);
  auto fit = by_size_.lower_bound({bytes, nullptr});
  if (fit == by_size_.end()) {
    grow(bytes);
    fit = by_size_.lower_bound({bytes, nullptr});
  }
  auto [size, begin] = *fit;
  remove(by_address_.find(begin));
  if (size > bytes) add(begin + bytes, size - bytes);
  ASAN_UNPOISON_MEMORY_REGION(begin, bytes);
  return begin;
}

void Heap::release(void* block, size_t bytes) {
  auto* begin = static_cast<std::byte*>(block);
  bytes = round_up(bytes, kLine);
  ASAN_POISON_MEMORY_REGION(begin, bytes);
  std::lock_guard lock(mutex_);
  auto next = by_address_.lower_bound(begin);
  if (next != by_address_.end() && next->first == begin + bytes) {
    bytes += next->second;
    remove(std::exchange(next, std::next(next)));
  }
  if (next != by_address_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == begin) {
      begin = before->first;
      bytes += before->second;
      remove(before);
    }
  }
  add(begin, bytes);
}

// Whole huge pages only: one that is given back in part is broken into small ones for good.
void Heap::trim() {
  std::lock_guard lock(mutex_);
  for (auto [begin, bytes] : by_address_) {
    auto first = round_up(std::bit_cast<uintptr_t>(begin), kHugePage);
    auto end = (std::bit_cast<uintptr_t>(begin) + bytes) / kHugePage * kHugePage;
    if (first < end) madvise(std::bit_cast<void*>(first), end - first, MADV_DONTNEED);
  }
}

void Heap::add(std::byte* begin, size_t bytes) {
  by_address_.emplace(begin, bytes);
  by_size_.emplace(bytes, begin);
}

void Heap::remove(std::map<std::byte*, size_t>::iterator range) {
  by_size_.erase({range->second, range->first});
  by_address_.erase(range);
}

void Heap::grow(size_t bytes) {
  size_t least = round_up(bytes, kHugePage) + kHugePage, size = std::max(kRegion, least);
  bool possible = bytes <= all_memory();
  void* region = possible ? reserve(size) : nullptr;
  if (!region && possible) region = reserve(size = least);
  if (!region) fail("the system has no {:.1f} GiB of memory to give", bytes / 1073741824.0);
  madvise(region, size, MADV_HUGEPAGE);
  ASAN_POISON_MEMORY_REGION(region, size);
  add(static_cast<std::byte*>(region), size);
}

}  // namespace spex
