// What this machine can do, measured in the same run as what is compared with it.
#pragma once

#include <spex/core/memory.h>
#include <spex/core/random.h>
#include <spex/core/threads.h>
#include <spex/tensor/matrix.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

namespace spex::bench {

// Runs `work` once to warm up, then `rounds` times; the median of the seconds.
inline double median_seconds(const std::function<void()>& work, int rounds = 5) {
  work();
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    auto begin = std::chrono::steady_clock::now();
    work();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

// Uniform numbers in (-0.5, 0.5).
inline Matrix noise(size_t rows, size_t cols, uint64_t seed) {
  Matrix matrix(rows, cols, MemoryTag::other);
  Random random(seed, Purpose::test);
  parallel_for(matrix.size(), 1 << 16, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      matrix.data()[i] = static_cast<float>(random.uniform(i) - 0.5);
  });
  return matrix;
}

// Keeps the compiler from dropping a loop whose result nobody reads.
inline void keep(float value) {
  asm volatile("" : : "x"(value));
}

// The sum of rows, with the widest loads the CPU has: all that a kernel which gathers rows cannot
// avoid.
__attribute__((target_clones("avx512f", "avx2", "default"))) inline float sum_rows(
    const float* table, size_t floats, const uint32_t* ids, size_t count, size_t readable) {
  constexpr size_t kAhead = 32;
  typedef float Line __attribute__((vector_size(64)));
  Line sum{};
  for (size_t i = 0; i < count; ++i) {
    if (i + kAhead < readable)
      for (size_t c = 0; c < floats; c += 16)
        __builtin_prefetch(table + size_t{ids[i + kAhead]} * floats + c);
    for (size_t c = 0; c < floats; c += 16) {
      Line line;
      __builtin_memcpy(&line, table + size_t{ids[i]} * floats + c, sizeof(line));
      sum += line;
    }
  }
  return sum[0];
}

// Rows of `floats` numbers read per second in the order of `ids`, on all threads: the limit of
// every kernel that gathers rows.
inline double random_rows_per_second(size_t table_rows, size_t floats,
                                     const Buffer<uint32_t>& ids) {
  Matrix table = Matrix::zeros(table_rows, floats, MemoryTag::other);
  double seconds = median_seconds([&] {
    parallel_for(ids.size(), 1 << 14, [&](size_t begin, size_t end) {
      keep(sum_rows(table.data(), floats, ids.data() + begin, end - begin, ids.size() - begin));
    });
  });
  return static_cast<double>(ids.size()) / seconds;
}

}  // namespace spex::bench
