#include <cstdint>

#include "fuzz/entries.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  spex::fuzz::mtx(std::as_bytes(std::span(data, size)));
  return 0;
}
