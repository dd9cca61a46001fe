#include <gtest/gtest.h>
#include <spex/core/memory.h>

#include <cstdint>

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
