#include <spex/core/memory.h>

#include <atomic>
#include <fstream>
#include <new>
#include <string>

#include "core/heap.h"

namespace spex {
namespace {

constexpr size_t kLarge = size_t{64} << 10;  // smaller blocks come from the C library

class Counter {
 public:
  void add(size_t bytes) {
    size_t now = current_.fetch_add(bytes) + bytes;
    size_t peak = peak_.load();
    while (peak < now && !peak_.compare_exchange_weak(peak, now)) {
    }
  }
  void subtract(size_t bytes) { current_.fetch_sub(bytes); }
  void reset_peak() { peak_.store(current_.load()); }
  MemoryUse use() const { return {current_.load(), peak_.load()}; }

 private:
  std::atomic<size_t> current_{0};
  std::atomic<size_t> peak_{0};
};

// Leaked on purpose: buffers with static storage may be released after any destructor of ours.
Heap& heap() {
  static Heap* heap = new Heap;
  return *heap;
}
std::array<Counter, kMemoryTags>& counters() {
  static auto* counters = new std::array<Counter, kMemoryTags>;
  return *counters;
}
Counter& total() {
  static auto* total = new Counter;
  return *total;
}

}  // namespace

std::string_view name(MemoryTag tag) {
  constexpr std::array<std::string_view, kMemoryTags> names = {
      "features", "activations", "gradients", "parameters", "graph", "scores", "other"};
  return names[static_cast<size_t>(tag)];
}

MemoryUse memory_use(MemoryTag tag) {
  return counters()[static_cast<size_t>(tag)].use();
}
MemoryUse memory_use() {
  return total().use();
}

void reset_memory_peaks() {
  for (Counter& counter : counters()) counter.reset_peak();
  total().reset_peak();
}

void trim_memory() {
  heap().trim();
}

ResidentMemory resident_memory() {
  ResidentMemory memory;
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;) {
    size_t kilobytes = 0;
    if (key == "VmHWM:" && status >> kilobytes) memory.peak = kilobytes << 10;
    if (key == "RssAnon:" && status >> kilobytes) memory.anonymous = kilobytes << 10;
    if (key == "RssFile:" && status >> kilobytes) memory.file_backed = kilobytes << 10;
    status.ignore(1 << 16, '\n');
  }
  return memory;
}

namespace detail {

void* allocate(size_t bytes, MemoryTag tag) {
  void* pointer =
      bytes >= kLarge ? heap().allocate(bytes) : ::operator new (bytes, std::align_val_t{64});
  counters()[static_cast<size_t>(tag)].add(bytes);
  total().add(bytes);
  return pointer;
}

void release(void* pointer, size_t bytes, MemoryTag tag) noexcept {
  counters()[static_cast<size_t>(tag)].subtract(bytes);
  total().subtract(bytes);
  if (bytes >= kLarge)
    heap().release(pointer, bytes);
  else
    ::operator delete (pointer, std::align_val_t{64});
}

}  // namespace detail
}  // namespace spex
