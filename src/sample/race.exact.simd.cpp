#include "sample/race_kernels.h"

namespace spex::SPEX_ISA {
namespace {

#if defined(__AVX512F__)
constexpr size_t kLanes = 16;
#elif defined(__AVX2__)
constexpr size_t kLanes = 8;
#else
constexpr size_t kLanes = 4;
#endif

using Floats = float __attribute__((vector_size(4 * kLanes)));
using Ints = int32_t __attribute__((vector_size(4 * kLanes)));
using Shorts = uint16_t __attribute__((vector_size(2 * kLanes)));

template <class Vector>
inline Vector load(const void* from, size_t bytes = sizeof(Vector)) {
  Vector vector = {};
  __builtin_memcpy(&vector, from, bytes);
  return vector;
}

// Non-negative 16-bit floats as 32-bit ones. In integers, so that the compiler need not know how;
// those below 0x0400 are subnormal. What is not above zero becomes 1e-30.
inline Floats rates(Shorts halves) {
  Ints half = __builtin_convertvector(halves, Ints);
  Ints bits = half << 13;
  Floats subnormal = (Floats)(bits + (113 << 23)) - 0x1p-14F;
  Floats normal = (Floats)(bits + (112 << 23));
  Floats value = half < 0x0400 ? subnormal : normal;
  return (half == 0) | (half > 0x7fff) ? Floats{} + 1e-30F : value;
}

// -log(1 - u), within a few units in the last place. 1 - u = 2^e m with m in [sqrt(1/2), sqrt(2)),
// and log(m) is a polynomial in m - 1 (Cephes). Where e is zero, m - 1 is -u itself: rounding 1 - u
// would lose the low bits of a small u, and small ones win the race.
inline Floats waiting_times(Ints words) {
  constexpr int32_t kRootHalf = 0x3f3504f3;  // the bits of sqrt(1/2)
  Ints positive = (words >> 1) & 0x7fffffff;
  Floats u = (__builtin_convertvector(positive, Floats) + 0.5F) * 0x1p-31F;
  Floats y = 1.0F - u;
  y = y > 0x1p-25F ? y : Floats{} + 0x1p-25F;
  Ints shifted = (Ints)y - kRootHalf;
  Ints exponent = shifted >> 23;
  Floats m = (Floats)((shifted & 0x007fffff) + kRootHalf);
  Floats t = exponent == 0 ? -u : m - 1.0F;
  // In pairs, not in Horner's order: a row is short, so the latency of the chain counts.
  Floats t2 = t * t, t4 = t2 * t2;
  Floats p01 = 3.3333331174e-1F - 2.4999993993e-1F * t;
  Floats p23 = 2.0000714765e-1F - 1.6668057665e-1F * t;
  Floats p45 = 1.4249322787e-1F - 1.2420140846e-1F * t;
  Floats p67 = 1.1676998740e-1F - 1.1514610310e-1F * t;
  Floats p = p01 + p23 * t2 + (p45 + p67 * t2 + 7.0376836292e-2F * t4) * t4;
  Floats log_m = t + t2 * (p * t - 0.5F);
  return __builtin_convertvector(exponent, Floats) * -0.693147182F - log_m;
}

}  // namespace

void race_keys(int32_t* keys, const uint32_t* words, const uint16_t* scores, size_t count) {
  for (size_t i = 0; i < count; i += kLanes) {
    Floats times = waiting_times(load<Ints>(words + i));
    if (scores) {
      bool whole = i + kLanes <= count;
      times /= rates(whole ? load<Shorts>(scores + i) : load<Shorts>(scores + i, 2 * (count - i)));
    }
    __builtin_memcpy(keys + i, &times, sizeof(times));
  }
}

}  // namespace spex::SPEX_ISA
