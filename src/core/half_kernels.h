#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dispatch.h"

namespace spex {

SPEX_KERNEL(void half_from_float(uint16_t* out, const float* in, size_t count))
SPEX_KERNEL(void float_from_half(float* out, const uint16_t* in, size_t count))

}  // namespace spex
