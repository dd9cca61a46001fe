// What this machine can do, measured in the same run as what is compared with it.
#pragma once

#include <spex/core/memory.h>
#include <spex/core/random.h>
#include <spex/core/threads.h>
#include <spex/tensor/matrix.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace spex::bench {

// The time that this process has used, per thread: what the clock would show were it alone on the
// machine, and what it does show up to the threads' waiting for each other.
inline double seconds_used() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec)) / threads();
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Runs `work` once to warm up, then `rounds` times; the median of the seconds.
inline double median_seconds(const std::function<void()>& work, int rounds = 5) {
  work();
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    double begin = seconds_used();
    work();
    seconds.push_back(seconds_used() - begin);
  }
  return median(std::move(seconds));
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

// The sum of rows, in pieces of so many numbers that each have their own sum.
template <size_t kPiece>
[[gnu::always_inline]] inline float sum_pieces(const float* table, size_t floats,
                                               const uint32_t* ids, size_t count, size_t readable) {
  constexpr size_t kAhead = 32;
  float sums[kPiece] = {};
  for (size_t i = 0; i < count; ++i) {
    if (i + kAhead < readable)
      for (size_t c = 0; c < floats; c += 16)
        __builtin_prefetch(table + size_t{ids[i + kAhead]} * floats + c);
    const float* row = table + size_t{ids[i]} * floats;
    for (size_t c = 0; c < floats; c += kPiece)
      for (size_t l = 0; l < kPiece; ++l) sums[l] += row[c + l];
  }
  return sums[0];
}

// All that a kernel which gathers rows cannot avoid, in vectors as wide as the CPU has: plain
// loops, which the compiler turns into those of each instruction set. `floats` is a multiple of 16.
#if defined(__x86_64__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
inline float
sum_rows(const float* table, size_t floats, const uint32_t* ids, size_t count, size_t readable) {
  return floats % 64 == 0   ? sum_pieces<64>(table, floats, ids, count, readable)
         : floats % 32 == 0 ? sum_pieces<32>(table, floats, ids, count, readable)
                            : sum_pieces<16>(table, floats, ids, count, readable);
}

// Seconds that reading rows of `floats` numbers in the order of `ids` takes, on all threads: the
// limit of every kernel that gathers rows.
inline double seconds_of_random_rows(const Matrix& table, const uint32_t* ids, size_t count) {
  double start = seconds_used();
  parallel_for(count, 1 << 14, [&](size_t begin, size_t end) {
    keep(sum_rows(table.data(), table.cols(), ids + begin, end - begin, count - begin));
  });
  return seconds_used() - start;
}

inline double random_rows_per_second(size_t table_rows, size_t floats,
                                     const Buffer<uint32_t>& ids) {
  Matrix table = Matrix::zeros(table_rows, floats, MemoryTag::other);
  std::vector<double> seconds;
  for (int round = 0; round < 5; ++round)
    seconds.push_back(seconds_of_random_rows(table, ids.data(), ids.size()));
  return static_cast<double>(ids.size()) / median(std::move(seconds));
}

}  // namespace spex::bench
