#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/core/memory.h>
#include <spex/core/random.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace spex {
namespace {

TEST(Memory, CountsCurrentAndPeakByTag) {
  size_t before = memory_use(MemoryTag::scores).current;
  reset_memory_peaks();
  {
    Buffer<float> first(1000, MemoryTag::scores);
    Buffer<float> second(500, MemoryTag::scores);
    EXPECT_EQ(memory_use(MemoryTag::scores).current, before + 6000);
  }
  Buffer<float> third(10, MemoryTag::scores);
  EXPECT_EQ(memory_use(MemoryTag::scores).current, before + 40);
  EXPECT_EQ(memory_use(MemoryTag::scores).peak, before + 6000);
  reset_memory_peaks();
  EXPECT_EQ(memory_use(MemoryTag::scores).peak, before + 40);
}

TEST(Memory, BuffersAreAlignedAndFreedBlocksAreUsedAgain) {
  const void* where = nullptr;
  {
    Buffer<float> buffer(1 << 20, MemoryTag::other);
    where = buffer.data();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(where) % 64, 0U);
    for (float& value : buffer) value = 1.0F;
  }
  Buffer<float> again((1 << 20) - 100, MemoryTag::other);
  EXPECT_EQ(again.data(), where);
}

TEST(Memory, FreedBlocksSideBySideServeALargerOne) {
  constexpr size_t kBytes = size_t{8} << 20;
  std::vector<Buffer<char>> parts;
  for (int i = 0; i < 3; ++i) parts.emplace_back(kBytes, MemoryTag::other);
  const char* first = std::min({parts[0].data(), parts[1].data(), parts[2].data()});
  const char* last = std::max({parts[0].data(), parts[1].data(), parts[2].data()});
  if (last - first != 2 * kBytes) GTEST_SKIP() << "other blocks lie between";
  for (int i : {0, 2, 1}) parts[static_cast<size_t>(i)] = {};
  Buffer<char> whole(3 * kBytes, MemoryTag::other);
  EXPECT_LE(whole.data(), first);
  EXPECT_GE(whole.data() + whole.size(), last + kBytes);
}

TEST(Memory, BlocksDoNotOverlapWhateverTheOrderOfFreeing) {
  Random random(1, Purpose::test);
  std::vector<Buffer<uint32_t>> held;
  for (uint32_t step = 0; step < 2000; ++step) {
    uint32_t bits = static_cast<uint32_t>(random.uniform(step) * 4294967295.0);
    if (held.size() > 40 || (bits % 3 == 0 && !held.empty())) {
      std::swap(held[bits % held.size()], held.back());
      for (uint32_t value : held.back()) ASSERT_EQ(value, held.back()[0]);
      held.pop_back();
    } else {
      held.emplace_back(20'000 + bits % 100'000, MemoryTag::other);
      std::fill(held.back().begin(), held.back().end(), step);
    }
  }
}

TEST(Memory, TrimmingGivesFreedBlocksBack) {
  constexpr size_t kBytes = size_t{64} << 20;
  Buffer<char> buffer(kBytes, MemoryTag::other);
  std::fill(buffer.begin(), buffer.end(), 1);
  size_t full = resident_memory().anonymous;
  buffer = {};
  trim_memory();
  EXPECT_LT(resident_memory().anonymous + kBytes / 2, full);
}

TEST(Memory, MoreThanTheMachineHasIsRefused) {
  EXPECT_THROW(Buffer<char>(size_t{1} << 50, MemoryTag::other), Error);
}

TEST(Memory, MovingABufferMovesItsBytes) {
  size_t before = memory_use().current;
  Buffer<int> a(100, MemoryTag::other);
  Buffer<int> b = std::move(a);
  EXPECT_TRUE(a.empty());  // NOLINT
  EXPECT_EQ(memory_use().current, before + 400);
  b = Buffer<int>();
}

TEST(Memory, ResidentMemoryIsPlausible) {
  auto memory = resident_memory();
  EXPECT_GT(memory.peak, size_t{1} << 20);
  EXPECT_GE(memory.peak, memory.anonymous);
}

}  // namespace
}  // namespace spex
