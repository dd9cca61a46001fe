#include <gtest/gtest.h>
#include <spex/core/hash.h>
#include <spex/core/threads.h>

#include <vector>

namespace spex {
namespace {

TEST(Hash, ChangesWithEveryByteAndTheLength) {
  for (size_t size : {1UL, 31UL, 33UL, 600'000UL}) {
    std::vector<std::byte> bytes(size, std::byte{7});
    uint64_t expected = hash_bytes(1, bytes);
    EXPECT_NE(hash_bytes(2, bytes), expected);
    for (size_t i = 0; i < size; i += 1 + size / 97) {
      bytes[i] ^= std::byte{1};
      EXPECT_NE(hash_bytes(1, bytes), expected) << i << " of " << size;
      bytes[i] ^= std::byte{1};
    }
    bytes.push_back(std::byte{0});
    EXPECT_NE(hash_bytes(1, bytes), expected);
  }
}

TEST(Hash, DoesNotDependOnTheThreads) {
  std::vector<std::byte> bytes(3'000'000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i);
  set_threads(1);
  uint64_t one = hash_bytes(1, bytes);
  set_threads(0);
  EXPECT_EQ(hash_bytes(1, bytes), one);
}

TEST(Hash, OfALongArrayLooksAtTheEndsAndThePartsBetween) {
  std::vector<std::byte> bytes(8 << 20);
  uint64_t expected = hash_bytes(1, bytes, 1 << 20);
  auto changes = [&](size_t at) {
    bytes[at] = std::byte{1};
    bool changed = hash_bytes(1, bytes, 1 << 20) != expected;
    bytes[at] = std::byte{0};
    return changed;
  };
  EXPECT_TRUE(changes(0));
  EXPECT_TRUE(changes(bytes.size() - 1));
  size_t seen = 0;
  for (size_t block = 0; block < 32; ++block) seen += changes(block << 18);
  EXPECT_EQ(seen, 4U) << "a megabyte is four blocks";
}

}  // namespace
}  // namespace spex
