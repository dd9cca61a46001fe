// Fingerprints of arrays: equal for equal bytes, whatever the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace spex {

// Chains one more word. A bijection of `hash` for a given word, and of `word` for a given hash.
uint64_t hash_word(uint64_t hash, uint64_t word);

// Chains the bytes and their number. `limit`: of a longer array about so many bytes count, in blocks
// that are spread evenly and include the first and the last.
inline constexpr size_t kHashAll = ~size_t{0};
uint64_t hash_bytes(uint64_t hash, std::span<const std::byte> bytes, size_t limit = kHashAll);

}  // namespace spex
