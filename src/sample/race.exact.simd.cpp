#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "core/vectors.h"
#include "sample/race_kernels.h"

namespace spex::SPEX_ISA {
namespace {

using Shorts = uint16_t __attribute__((vector_size(2 * kLanes)));

// Non-negative 16-bit floats as 32-bit ones. In integers, since g++ 12 does not vectorise its own
// conversion; those below 0x0400 are subnormal.
inline Floats to_floats(Ints half) {
  Ints bits = half << 13;
  Floats subnormal = (Floats)(bits + (113 << 23)) - 0x1p-14F;
  Floats normal = (Floats)(bits + (112 << 23));
  return half < 0x0400 ? subnormal : normal;
}

// What is not above zero becomes 1e-30.
inline Floats to_rates(Ints half) {
  return (half == 0) | (half > 0x7fff) ? Floats{} + 1e-30F : to_floats(half);
}

// y = 2^exponent m, m in [sqrt(1/2), sqrt(2)), for normal y > 0.
struct Parts {
  Ints exponent;
  Floats m;
};

inline Parts split(Floats y) {
  constexpr int32_t kRootHalf = 0x3f3504f3;  // the bits of sqrt(1/2)
  Ints shifted = (Ints)y - kRootHalf;
  return {shifted >> 23, (Floats)((shifted & 0x007fffff) + kRootHalf)};
}

// log(2^exponent (1 + t)), within a few units in the last place (the polynomial is Cephes'). In
// pairs, not in Horner's order: a row is short, so the latency of the chain counts.
inline Floats logarithm(Ints exponent, Floats t) {
  Floats t2 = t * t, t4 = t2 * t2;
  Floats p01 = 3.3333331174e-1F - 2.4999993993e-1F * t;
  Floats p23 = 2.0000714765e-1F - 1.6668057665e-1F * t;
  Floats p45 = 1.4249322787e-1F - 1.2420140846e-1F * t;
  Floats p67 = 1.1676998740e-1F - 1.1514610310e-1F * t;
  Floats p = p01 + p23 * t2 + (p45 + p67 * t2 + 7.0376836292e-2F * t4) * t4;
  return __builtin_convertvector(exponent, Floats) * 0.693147182F + (t + t2 * (p * t - 0.5F));
}

// -log(1 - u). Where the exponent of 1 - u is zero, t is -u itself: rounding 1 - u would lose the
// low bits of a small u, and small ones win the race.
inline Floats waiting_times(Ints words) {
  Ints positive = (words >> 1) & 0x7fffffff;
  Floats u = (__builtin_convertvector(positive, Floats) + 0.5F) * 0x1p-31F;
  Floats y = 1.0F - u;
  auto [exponent, m] = split(y > 0x1p-25F ? y : Floats{} + 0x1p-25F);
  return -logarithm(exponent, exponent == 0 ? -u : m - 1.0F);
}

inline Ints widen(Shorts shorts) {
#if defined(__aarch64__)
  return (Ints)vmovl_u16((uint16x4_t)shorts);  // g++ 12 would take the conversion apart
#else
  return __builtin_convertvector(shorts, Ints);
#endif
}

// The scores from `i` on, of `count`.
inline Ints load_scores(const uint16_t* scores, size_t i, size_t count) {
  Shorts some = {};
  if (i + kLanes <= count)
    some = load<Shorts>(scores + i);
  else
    __builtin_memcpy(&some, scores + i, 2 * (count - i));
  return widen(some);
}

}  // namespace

void race_keys(int32_t* keys, const uint32_t* words, const uint16_t* scores, size_t count) {
  for (size_t i = 0; i < count; i += kLanes) {
    Floats times = waiting_times(load<Ints>(words + i));
    if (scores) times /= to_rates(load_scores(scores, i, count));
    store(keys + i, times);
  }
}

void log_scores(float* out, const uint16_t* scores, size_t count) {
  for (size_t i = 0; i < count; i += kLanes) {
    auto [exponent, m] = split(to_floats(load_scores(scores, i, count)) + 1e-8F);
    Floats logs = logarithm(exponent, m - 1.0F);
    size_t some = count - i < kLanes ? count - i : kLanes;
    __builtin_memcpy(out + i, &logs, some * sizeof(float));
  }
}

}  // namespace spex::SPEX_ISA
