#include <spex/core/cpu.h>
#include <spex/core/error.h>

#include <algorithm>
#include <atomic>

namespace spex {
namespace {

std::vector<Isa> detect() {
  std::vector<Isa> isas = {Isa::plain};
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return isas;
  isas.push_back(Isa::avx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    isas.push_back(Isa::avx512);
  return isas;
}

std::atomic<Isa>& current() {
  static std::atomic<Isa> isa = detect().back();
  return isa;
}

}  // namespace

std::string_view name(Isa isa) {
  return isa == Isa::plain ? "plain" : isa == Isa::avx2 ? "avx2" : "avx512";
}

std::vector<Isa> supported_isas() {
  return detect();
}

Isa isa() {
  return current().load(std::memory_order_relaxed);
}

void set_isa(Isa isa) {
  auto isas = supported_isas();
  require(std::find(isas.begin(), isas.end(), isa) != isas.end(),
          "this CPU has no {} instructions; it has up to {}", name(isa), name(isas.back()));
  current().store(isa);
}

}  // namespace spex
