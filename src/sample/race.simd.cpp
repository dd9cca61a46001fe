#include "sample/race_kernels.h"

namespace spex::SPEX_ISA {
namespace {

__extension__ typedef _Float16 Native;

// log(y) for normal y > 0, within a few units in the last place: y = 2^e m, m in [sqrt(1/2),
// sqrt(2)).
inline float logarithm(float y) {
  uint32_t bits;
  __builtin_memcpy(&bits, &y, sizeof(bits));
  uint32_t shifted = bits - 0x3f3504f3U;
  auto exponent = static_cast<float>(static_cast<int32_t>(shifted) >> 23);
  uint32_t mantissa_bits = (shifted & 0x007fffffU) + 0x3f3504f3U;
  float m;
  __builtin_memcpy(&m, &mantissa_bits, sizeof(m));
  float t = m - 1.0F;
  float p = 7.0376836292e-2F;
  p = p * t - 1.1514610310e-1F;
  p = p * t + 1.1676998740e-1F;
  p = p * t - 1.2420140846e-1F;
  p = p * t + 1.4249322787e-1F;
  p = p * t - 1.6668057665e-1F;
  p = p * t + 2.0000714765e-1F;
  p = p * t - 2.4999993993e-1F;
  p = p * t + 3.3333331174e-1F;
  float square = t * t;
  return exponent * 0.693147182F + (t + square * (p * t - 0.5F));
}

// -log(1 - u), accurate for small u too: those win the race. log(1 - u) alone would lose their low
// bits, so it is scaled by u / (1 - y), y being 1 - u as it was rounded.
inline float waiting_time(uint32_t word) {
  float u = (static_cast<float>(static_cast<int32_t>(word >> 1)) + 0.5F) * 0x1p-31F;
  float y = 1.0F - u;
  y = y < 0x1p-24F ? 0x1p-24F : y;
  float rounded = 1.0F - y;
  float corrected = -logarithm(y) * (u / (rounded > 0.0F ? rounded : 1.0F));
  return rounded > 0.0F ? corrected : u;
}

}  // namespace

void race_keys(float* keys, const uint32_t* words, const uint16_t* scores, size_t count) {
  if (!scores) {
    for (size_t i = 0; i < count; ++i) keys[i] = waiting_time(words[i]);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    Native score;
    __builtin_memcpy(&score, scores + i, sizeof(score));
    keys[i] = waiting_time(words[i]) / (static_cast<float>(score) + 1e-8F);
  }
}

}  // namespace spex::SPEX_ISA
