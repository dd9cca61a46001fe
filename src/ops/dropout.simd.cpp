#include "ops/dropout.h"

namespace spex::SPEX_ISA {

void drop(float* y, const float* base, const float* x, const uint16_t* bits, uint32_t threshold,
          float factor, size_t count) {
  // Without a base the sum would turn -0 into 0 and read memory for nothing.
  if (base) {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i)
      y[i] = base[i] + (bits[i] < threshold ? factor * x[i] : 0.0F);
  } else {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) y[i] = bits[i] < threshold ? factor * x[i] : 0.0F;
  }
}

}  // namespace spex::SPEX_ISA
