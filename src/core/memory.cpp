#include <spex/core/error.h>
#include <spex/core/memory.h>
#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace spex {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kAlignment = 64;
// The pool keeps at most what was freed; blocks of fewer bytes go straight to the C library.
constexpr size_t kPooledFrom = size_t{64} << 10;

// Four sizes per power of two, so that batches of slightly different sizes find each other's
// blocks.
size_t size_class(size_t bytes) {
  size_t step = std::bit_floor(bytes) / 4;
  return (bytes + step - 1) / step * step;
}

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

struct Pool {
  std::mutex mutex;
  std::unordered_map<size_t, std::vector<void*>> free;
};

// Leaked on purpose: buffers with static storage may be released after any destructor of ours.
Pool& pool() {
  static Pool* pool = new Pool;
  return *pool;
}
std::array<Counter, kMemoryTags>& counters() {
  static auto* counters = new std::array<Counter, kMemoryTags>;
  return *counters;
}
Counter& total() {
  static auto* total = new Counter;
  return *total;
}

void* system_allocate(size_t bytes) {
  size_t alignment = bytes >= kHugePage ? kHugePage : kAlignment;
  size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* pointer = std::aligned_alloc(alignment, rounded);
  if (!pointer) {
    trim_memory();  // what the pool holds in other sizes may be enough
    pointer = std::aligned_alloc(alignment, rounded);
  }
  if (!pointer) fail("the system has no {:.1f} GiB of memory to give", bytes / 1073741824.0);
  if (bytes >= kHugePage) madvise(pointer, rounded, MADV_HUGEPAGE);
  return pointer;
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
  std::lock_guard lock(pool().mutex);
  for (auto& [bytes, blocks] : pool().free)
    for (void* block : blocks) std::free(block);
  pool().free.clear();
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
  void* pointer = nullptr;
  if (bytes >= kPooledFrom) {
    std::lock_guard lock(pool().mutex);
    auto found = pool().free.find(size_class(bytes));
    if (found != pool().free.end() && !found->second.empty()) {
      pointer = found->second.back();
      found->second.pop_back();
    }
  }
  if (!pointer) pointer = system_allocate(bytes >= kPooledFrom ? size_class(bytes) : bytes);
  counters()[static_cast<size_t>(tag)].add(bytes);
  total().add(bytes);
  return pointer;
}

void release(void* pointer, size_t bytes, MemoryTag tag) noexcept {
  counters()[static_cast<size_t>(tag)].subtract(bytes);
  total().subtract(bytes);
  if (bytes < kPooledFrom) {
    std::free(pointer);
    return;
  }
  std::lock_guard lock(pool().mutex);
  pool().free[size_class(bytes)].push_back(pointer);
}

}  // namespace detail
}  // namespace spex
