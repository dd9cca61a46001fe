#include "ops/dropout.h"

namespace spex::SPEX_ISA {

void drop_relu(float* y, const uint16_t* bits, uint32_t threshold, float factor, size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) {
    float kept = factor * (y[i] > 0.0F ? y[i] : 0.0F);
    y[i] = bits[i] < threshold ? kept : 0.0F;
  }
}

void drop(float* y, const float* base, const float* x, const uint16_t* bits, uint32_t threshold,
          float factor, size_t count) {
  // The products are made in any case: a conditional read would not become a vector everywhere.
  if (base) {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) {
      float kept = factor * x[i];
      y[i] = base[i] + (bits[i] < threshold ? kept : 0.0F);
    }
  } else {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) {
      float kept = factor * x[i];
      y[i] = bits[i] < threshold ? kept : 0.0F;
    }
  }
}

}  // namespace spex::SPEX_ISA
