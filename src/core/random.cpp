#include <Random123/philox.h>
#include <spex/core/random.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "core/philox.h"

namespace spex {
namespace {

// The 52 upper bits, centred: never 0 and never 1.
double to_unit(uint32_t high, uint32_t low) {
  uint64_t bits = (uint64_t{high} << 32 | low) >> 12;
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

}  // namespace

std::array<uint32_t, 4> Random::bits(uint64_t index) const {
  r123::Philox4x32::ctr_type counter = {
      {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), epoch_, layer_word()}};
  r123::Philox4x32::key_type key = {{static_cast<uint32_t>(seed_), purpose_}};
  auto result = r123::Philox4x32()(counter, key);
  return {result[0], result[1], result[2], result[3]};
}

void Random::fill(std::span<uint32_t> words, uint64_t first_index) const {
  PhiloxStream stream = {
      first_index, {epoch_, layer_word()}, {static_cast<uint32_t>(seed_), purpose_}};
  size_t whole = words.size() / 4;
  SPEX_CALL(philox, words.data(), whole, stream);
  if (size_t rest = words.size() % 4) {
    auto last = bits(first_index + whole);
    std::copy_n(last.begin(), rest, words.begin() + static_cast<ptrdiff_t>(4 * whole));
  }
}

double Random::uniform(uint64_t index) const {
  auto word = bits(index);
  return to_unit(word[0], word[1]);
}

double Random::normal(uint64_t index) const {
  auto word = bits(index);
  double radius = std::sqrt(-2.0 * std::log(to_unit(word[0], word[1])));
  return radius * std::cos(2.0 * std::numbers::pi * to_unit(word[2], word[3]));
}

uint64_t Random::below(uint64_t bound, uint64_t index) const {
  auto word = bits(index);
  // 128 random bits times bound: the bias is below bound / 2^64 per value, too small to observe.
  uint64_t high = uint64_t{word[0]} << 32 | word[1];
  uint64_t low = uint64_t{word[2]} << 32 | word[3];
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(
      (static_cast<Wide>(high) * bound + (static_cast<Wide>(low) * bound >> 64)) >> 64);
}

std::vector<uint32_t> random_permutation(size_t count, const Random& random) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i, i)]);
  return order;
}

}  // namespace spex
