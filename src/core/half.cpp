#include <spex/core/error.h>
#include <spex/core/half.h>

#include "core/half_kernels.h"

namespace spex {

static_assert(sizeof(Half) == sizeof(uint16_t));

void to_half(std::span<Half> out, std::span<const float> in) {
  require(out.size() == in.size(), "half floats: {} values into {} places", in.size(), out.size());
  SPEX_CALL(half_from_float, reinterpret_cast<uint16_t*>(out.data()), in.data(), in.size());
}

void to_float(std::span<float> out, std::span<const Half> in) {
  require(out.size() == in.size(), "half floats: {} values into {} places", in.size(), out.size());
  SPEX_CALL(float_from_half, out.data(), reinterpret_cast<const uint16_t*>(in.data()), in.size());
}

}  // namespace spex
