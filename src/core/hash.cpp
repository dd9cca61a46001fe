// Arrays are hashed in fixed blocks, four lanes at a time so that multiplications overlap, and the
// blocks' hashes are chained in order: the number of threads does not matter.
#include <spex/core/hash.h>
#include <spex/core/threads.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

namespace spex {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 18;

uint64_t hash_block(const std::byte* bytes, size_t count) {
  std::array<uint64_t, 4> lanes = {1, 2, 3, 4};
  std::array<uint64_t, 4> words;
  for (; count >= sizeof words; bytes += sizeof words, count -= sizeof words) {
    std::memcpy(words.data(), bytes, sizeof words);
    for (size_t lane = 0; lane < 4; ++lane) lanes[lane] = hash_word(lanes[lane], words[lane]);
  }
  words = {0, 0, 0, 0};
  std::memcpy(words.data(), bytes, count);
  uint64_t hash = count;
  for (size_t lane = 0; lane < 4; ++lane)
    hash = hash_word(hash_word(hash, lanes[lane]), words[lane]);
  return hash;
}

}  // namespace

uint64_t hash_word(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
  return hash ^ std::rotr(hash, 29);
}

uint64_t hash_bytes(uint64_t hash, std::span<const std::byte> bytes, size_t limit) {
  if (bytes.empty()) return hash_word(hash, 0);
  size_t blocks = (bytes.size() + kBlockBytes - 1) / kBlockBytes;
  size_t chosen = std::min(blocks, std::max<size_t>(2, limit / kBlockBytes));
  std::vector<uint64_t> parts(chosen);
  parallel_for(chosen, 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      size_t block = chosen == blocks ? i : i * (blocks - 1) / (chosen - 1);
      size_t first = block * kBlockBytes;
      parts[i] = hash_block(bytes.data() + first, std::min(kBlockBytes, bytes.size() - first));
    }
  });
  hash = hash_word(hash, bytes.size());
  for (uint64_t part : parts) hash = hash_word(hash, part);
  return hash;
}

}  // namespace spex
