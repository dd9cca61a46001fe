// 16-bit floats (IEEE binary16), the form in which attention scores are stored.
#pragma once

#include <cstdint>
#include <span>

namespace spex {

// The bits of a 16-bit float. Kept apart from integers by type.
struct Half {
  uint16_t bits = 0;
};

void to_half(std::span<Half> out, std::span<const float> in);
void to_float(std::span<float> out, std::span<const Half> in);

}  // namespace spex
