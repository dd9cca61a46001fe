// Which numbers dropout keeps: number i is kept when the 16 random bits at position i are below a
// threshold.
#pragma once

#include <spex/core/random.h>

#include "core/dispatch.h"

namespace spex {

// y = factor max(0, y) where kept, 0 elsewhere.
SPEX_KERNEL(void drop_relu(float* y, const uint16_t* bits, uint32_t threshold, float factor,
                           size_t count))

// y = base + factor x where kept, base elsewhere; base may be null (zeros) or y itself, and x may
// be y.
SPEX_KERNEL(void drop(float* y, const float* base, const float* x, const uint16_t* bits,
                      uint32_t threshold, float factor, size_t count))

class DropoutMask {
 public:
  DropoutMask(float rate, const Random& random);
  bool keeps_all() const { return threshold_ == 65536; }
  float factor() const { return 65536.0F / static_cast<float>(threshold_); }

  // The kernels on `count` numbers, of which the first has position `first`, a multiple of 8.
  void drop_relu(float* y, size_t first, size_t count) const;
  void drop(float* y, const float* base, const float* x, size_t first, size_t count) const;

 private:
  Random random_;
  uint32_t threshold_;
};

}  // namespace spex
