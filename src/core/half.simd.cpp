#include <cstddef>
#include <cstdint>

#include "core/half_kernels.h"

namespace spex::SPEX_ISA {

#if defined(__aarch64__) || defined(__clang__)
using Native = __fp16;  // g++ 12 knows the standard's name only on x86, clang 14 on no CPU of ours
#else
__extension__ typedef _Float16 Native;
#endif

void half_from_float(uint16_t* out, const float* in, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Native half = static_cast<Native>(in[i]);
    __builtin_memcpy(out + i, &half, sizeof(half));
  }
}

void float_from_half(float* out, const uint16_t* in, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Native half;
    __builtin_memcpy(&half, in + i, sizeof(half));
    out[i] = static_cast<float>(half);
  }
}

}  // namespace spex::SPEX_ISA
