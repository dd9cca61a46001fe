// Random numbers as a function, not a state: the same (seed, purpose, epoch, layer, index) gives
// the same number, whatever the number of threads, the order of calls, or whether the run was
// interrupted. The function is Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace spex {

// What a number is for; two purposes never share a number.
enum class Purpose : uint32_t {
  initialisation = 1,
  dropout,
  sampling,
  batch_order,
  expander,
  split,
  generator,
  test,
  local_sampling,  // of a graph's own edges, beside those of the attention
};

class Random {
 public:
  Random(uint64_t seed, Purpose purpose, uint32_t epoch = 0, uint32_t layer = 0)
      : seed_(seed), purpose_(static_cast<uint32_t>(purpose)), epoch_(epoch), layer_(layer) {}

  std::array<uint32_t, 4> bits(uint64_t index) const;    // 128 random bits
  double uniform(uint64_t index) const;                  // in (0, 1)
  double normal(uint64_t index) const;                   // mean 0, variance 1
  uint64_t below(uint64_t bound, uint64_t index) const;  // in [0, bound), without bias; bound > 0

  // Many at once, much faster than one by one: words[4 i .. 4 i + 3] = bits(first_index + i). The
  // last of them may be cut short by the end of `words`.
  void fill(std::span<uint32_t> words, uint64_t first_index) const;

  uint64_t seed() const { return seed_; }
  uint32_t purpose() const { return purpose_; }
  uint32_t epoch() const { return epoch_; }
  uint32_t layer() const { return layer_; }

 private:
  // The upper half of the seed stirs the layer word: layers are few, so no two purposes can meet.
  uint32_t layer_word() const { return layer_ + static_cast<uint32_t>(seed_ >> 32) * 0x9e3779b9U; }

  uint64_t seed_;
  uint32_t purpose_, epoch_, layer_;
};

// A uniformly random order of 0 .. count-1.
std::vector<uint32_t> random_permutation(size_t count, const Random& random);

}  // namespace spex
