// Philox4x32-10 on vectors. A counter's four words stand in four vectors, each word in the lower
// half of a 64-bit lane: that is what the 32 x 32 -> 64 bit multiplication reads, so the upper
// halves may hold anything, and a product needs no splitting into high and low words.
#include "core/philox.h"

#include "core/vectors.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace spex::SPEX_ISA {
namespace {

using Words = Longs;
constexpr size_t kCounters = lanes<Words>;

// The product of the lower halves of each lane.
inline Words multiply(Words a, Words b) {
#if defined(__AVX512F__)
  // The masked forms: GCC 12 warns of uninitialised values inside the others.
  return (Words)_mm512_maskz_mul_epu32(0xFF, (__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (Words)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__x86_64__)
  return (Words)_mm_mul_epu32((__m128i)a, (__m128i)b);
#elif defined(__aarch64__)
  return (Words)vmull_u32(vmovn_u64((uint64x2_t)a), vmovn_u64((uint64x2_t)b));
#else
#error "philox: no multiplication for this instruction set"
#endif
}

// The upper half of each lane in its lower half: on x86 a shuffle, since the shifter shares its
// port with the multiplier.
inline Words upper(Words a) {
#if defined(__AVX512F__)
  return (Words)_mm512_maskz_shuffle_epi32(0xFFFF, (__m512i)a, _MM_PERM_DDBB);
#elif defined(__AVX2__)
  return (Words)_mm256_shuffle_epi32((__m256i)a, 0xF5);
#elif defined(__x86_64__)
  return (Words)_mm_shuffle_epi32((__m128i)a, 0xF5);
#else
  return a >> 32;
#endif
}

inline Words all(uint64_t value) {
  return Words{} + value;
}

struct State {
  Words c0, c1, c2, c3;
};

inline void round(State& s, Words key0, Words key1) {
  Words p0 = multiply(s.c0, all(0xD2511F53));
  Words p1 = multiply(s.c2, all(0xCD9E8D57));
  s.c0 = upper(p1) ^ s.c1 ^ key0;
  s.c2 = upper(p0) ^ s.c3 ^ key1;
  s.c1 = p1;
  s.c3 = p0;
}

// Lane by lane: c0 c1 c2 c3 of the first counter, then of the second, ...
inline void store_words(uint32_t* words, const State& s) {
  Words low = (s.c0 & all(0xFFFFFFFF)) | (s.c1 << 32);
  Words high = (s.c2 & all(0xFFFFFFFF)) | (s.c3 << 32);
#if defined(__AVX512F__)
  Words first = __builtin_shufflevector(low, high, 0, 8, 1, 9, 2, 10, 3, 11);
  Words second = __builtin_shufflevector(low, high, 4, 12, 5, 13, 6, 14, 7, 15);
#elif defined(__AVX2__)
  Words first = __builtin_shufflevector(low, high, 0, 4, 1, 5);
  Words second = __builtin_shufflevector(low, high, 2, 6, 3, 7);
#else
  Words first = __builtin_shufflevector(low, high, 0, 2);
  Words second = __builtin_shufflevector(low, high, 1, 3);
#endif
  store(words, first);
  store(words + 2 * kCounters, second);
}

// The keys of the ten rounds, spread over vectors once per call: reading them costs nothing, the
// spreading would compete with the shuffles.
struct Keys {
  Words even[10], odd[10];
};

inline void spread(Keys& keys, uint32_t key0, uint32_t key1) {
  for (int i = 0; i < 10; ++i) {
    keys.even[i] = all(key0);
    keys.odd[i] = all(key1);
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
}

inline State start(uint64_t first, const PhiloxStream& stream) {
  Words index = all(first) + lane_numbers<Words>();
  return {index, upper(index), all(stream.high[0]), all(stream.high[1])};
}

inline void block(uint32_t* words, uint64_t first, const PhiloxStream& stream, const Keys& keys) {
  State a = start(first, stream);
#pragma GCC unroll 10
  for (int i = 0; i < 10; ++i) round(a, keys.even[i], keys.odd[i]);
  store_words(words, a);
}

// Two vectors of counters at a time: the rounds of one hide the latency of the other.
inline void two_blocks(uint32_t* words, uint64_t first, const PhiloxStream& stream,
                       const Keys& keys) {
  State a = start(first, stream);
  State b = start(first + kCounters, stream);
#pragma GCC unroll 10
  for (int i = 0; i < 10; ++i) {
    round(a, keys.even[i], keys.odd[i]);
    round(b, keys.even[i], keys.odd[i]);
  }
  store_words(words, a);
  store_words(words + 4 * kCounters, b);
}

}  // namespace

void philox(uint32_t* words, size_t count, const PhiloxStream& stream) {
  Keys keys;
  spread(keys, stream.key[0], stream.key[1]);
  size_t done = 0;
  for (; done + 2 * kCounters <= count; done += 2 * kCounters)
    two_blocks(words + 4 * done, stream.first + done, stream, keys);
  for (; done + kCounters <= count; done += kCounters)
    block(words + 4 * done, stream.first + done, stream, keys);
  if (done == count) return;
  uint32_t rest[4 * kCounters];
  block(rest, stream.first + done, stream, keys);
  __builtin_memcpy(words + 4 * done, rest, 16 * (count - done));
}

}  // namespace spex::SPEX_ISA
