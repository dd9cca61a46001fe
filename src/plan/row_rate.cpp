#include "plan/row_rate.h"

#include <spex/core/memory.h>
#include <spex/core/random.h>
#include <spex/core/stopwatch.h>
#include <spex/core/threads.h>

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>

namespace spex {
namespace {

constexpr size_t kLargestTable = size_t{192} << 20;  // larger ones are fetched no slower
constexpr size_t kReads = 400'000;
constexpr size_t kBlock = 8192;
constexpr size_t kAhead = 16;  // rows asked for before they are read

double measure(size_t row_floats, size_t rows) {
  Buffer<float> table(rows * row_floats, MemoryTag::other);
  parallel_for(table.size(), size_t{1} << 20, [&](size_t begin, size_t end) {
    std::fill(table.begin() + begin, table.begin() + end, 1.0F);
  });
  Buffer<uint32_t> order(kReads + kAhead, MemoryTag::other);
  Random random(5, Purpose::test);
  random.fill(order.span(), 0);
  for (uint32_t& place : order) place %= static_cast<uint32_t>(rows);
  double best = 1e30;
  volatile double sink = 0;
  for (int round = 0; round < 3; ++round) {
    Stopwatch watch;
    sink = parallel_sum(kReads, kBlock, 0.0, [&](size_t begin, size_t end) {
      float sum = 0;
      for (size_t i = begin; i < end; ++i) {
        const float* later = table.data() + order[i + kAhead] * row_floats;
        for (size_t c = 0; c < row_floats; c += 16) __builtin_prefetch(later + c);
        const float* row = table.data() + order[i] * row_floats;
        for (size_t c = 0; c < row_floats; c += 16) sum += row[c];
      }
      return double{sum};
    });
    best = std::min(best, watch.seconds());
  }
  static_cast<void>(sink);
  return best / static_cast<double>(kReads);
}

}  // namespace

double row_seconds(size_t row_bytes, size_t rows) {
  static std::mutex mutex;
  static std::map<std::pair<size_t, size_t>, double> known;
  size_t row = std::bit_ceil(std::max<size_t>(64, row_bytes));
  size_t count = std::bit_ceil(std::clamp<size_t>(rows, 1, kLargestTable / row));
  std::lock_guard guard(mutex);
  auto [found, fresh] = known.try_emplace({row, count}, 0.0);
  if (fresh) found->second = measure(row / sizeof(float), count);
  return found->second;
}

}  // namespace spex
