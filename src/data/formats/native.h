// Reading a native file from memory, for the fuzzer and for load_native.
#pragma once

#include <spex/core/safetensors.h>
#include <spex/data/native.h>

namespace spex {

inline constexpr const char* kNativeFormat = "spex.dataset";
inline constexpr const char* kNativeVersion = "1";

Dataset native_dataset(const Safetensors& file);

}  // namespace spex
