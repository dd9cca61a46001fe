// Declaring and calling kernels that are compiled once per instruction set (*.simd.cpp).
//
//   SPEX_KERNEL(void axpy(float* y, const float* x, size_t n))     in the kernel's header
//   namespace spex::SPEX_ISA { void axpy(...) { ... } }            in the *.simd.cpp file
//   SPEX_CALL(axpy, y, x, n);                                      where it is used
//
// cmake/spex.cmake lists the sets of each architecture. NEON is part of 64-bit ARM, so there is
// nothing to choose from there.
//
// A *.simd.cpp file must not use inline functions or templates of the standard library: the linker
// would keep one copy of them, perhaps the one with instructions this CPU lacks.
#pragma once

#include <spex/core/cpu.h>

#if defined(__x86_64__)

#define SPEX_KERNEL(...) \
  namespace plain {      \
  __VA_ARGS__;           \
  }                      \
  namespace avx2 {       \
  __VA_ARGS__;           \
  }                      \
  namespace avx512 {     \
  __VA_ARGS__;           \
  }

#define SPEX_CALL(function, ...)                                        \
  (::spex::isa() == ::spex::Isa::avx512 ? avx512::function(__VA_ARGS__) \
   : ::spex::isa() == ::spex::Isa::avx2 ? avx2::function(__VA_ARGS__)   \
                                        : plain::function(__VA_ARGS__))

#elif defined(__aarch64__)

#define SPEX_KERNEL(...) \
  namespace neon {       \
  __VA_ARGS__;           \
  }

#define SPEX_CALL(function, ...) neon::function(__VA_ARGS__)

#else

#define SPEX_KERNEL(...) \
  namespace plain {      \
  __VA_ARGS__;           \
  }

#define SPEX_CALL(function, ...) plain::function(__VA_ARGS__)

#endif
