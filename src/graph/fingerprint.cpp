// Arrays are hashed in fixed blocks, four lanes at a time so that multiplications overlap, and the
// blocks' hashes are chained in order: the number of threads does not matter.

#include <spex/core/threads.h>
#include <spex/graph/attention_graph.h>

#include <array>
#include <bit>
#include <cstring>
#include <vector>

namespace spex {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 18;

// A step is a bijection of `hash` for a given word, and of `word` for a given hash.
uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
  return hash ^ std::rotr(hash, 29);
}

uint64_t hash_block(const std::byte* bytes, size_t count) {
  std::array<uint64_t, 4> lanes = {1, 2, 3, 4};
  std::array<uint64_t, 4> words;
  for (; count >= sizeof words; bytes += sizeof words, count -= sizeof words) {
    std::memcpy(words.data(), bytes, sizeof words);
    for (size_t lane = 0; lane < 4; ++lane) lanes[lane] = mix(lanes[lane], words[lane]);
  }
  words = {0, 0, 0, 0};
  std::memcpy(words.data(), bytes, count);
  uint64_t hash = count;
  for (size_t lane = 0; lane < 4; ++lane) hash = mix(mix(hash, lanes[lane]), words[lane]);
  return hash;
}

template <class T>
uint64_t hash_array(uint64_t hash, std::span<const T> values) {
  if (values.empty()) return mix(hash, 0);
  auto bytes = std::as_bytes(values);
  std::vector<uint64_t> parts((bytes.size() + kBlockBytes - 1) / kBlockBytes);
  parallel_for(bytes.size(), kBlockBytes, [&](size_t begin, size_t end) {
    parts[begin / kBlockBytes] = hash_block(bytes.data() + begin, end - begin);
  });
  hash = mix(hash, bytes.size());
  for (uint64_t part : parts) hash = mix(hash, part);
  return hash;
}

}  // namespace

uint64_t fingerprint(const AttentionGraph& graph) {
  uint64_t hash = mix(graph.types, graph.virtual_nodes);
  hash = hash_array(hash, graph.offsets.span());
  hash = hash_array(hash, graph.segment_ends.span());
  return hash_array(hash, graph.neighbours.span());
}

}  // namespace spex
