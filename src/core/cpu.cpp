#include <fmt/format.h>
#include <spex/core/cpu.h>
#include <spex/core/error.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace spex {
namespace {

constexpr Isa kIsas[] = {Isa::plain, Isa::avx2, Isa::avx512, Isa::neon};

#if defined(__x86_64__)
bool has_f16c() {  // asked of the CPU itself: not every compiler's builtin knows the word
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

// Everything that cmake/spex.cmake lets the compiler use. The builtin says yes to AVX and what
// builds on it only if the system saves the wide registers, too.
std::vector<Isa> detect() {
  std::vector<Isa> isas = {Isa::plain};
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("popcnt") || !has_f16c())
    return isas;
  isas.push_back(Isa::avx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    isas.push_back(Isa::avx512);
  return isas;
}
#elif defined(__aarch64__)
std::vector<Isa> detect() {
  return {Isa::neon};  // part of the architecture
}
#else
std::vector<Isa> detect() {
  return {Isa::plain};
}
#endif

std::string names(const std::vector<Isa>& isas) {
  std::vector<std::string_view> words;
  for (Isa isa : isas) words.push_back(name(isa));
  return fmt::format("{}", fmt::join(words, ", "));
}

void check_supported(Isa isa) {
  auto isas = supported_isas();
  require(std::find(isas.begin(), isas.end(), isa) != isas.end(),
          "this CPU cannot run the instruction set {}; it can run {}", name(isa), names(isas));
}

Isa chosen() {
  const char* wanted = std::getenv("SPEX_ISA");
  if (!wanted || !*wanted) return detect().back();
  auto found = std::find_if(std::begin(kIsas), std::end(kIsas),
                            [&](Isa isa) { return name(isa) == wanted; });
  require(found != std::end(kIsas), "SPEX_ISA={}: no such instruction set; this CPU can run {}",
          wanted, names(detect()));
  check_supported(*found);
  return *found;
}

std::atomic<Isa>& current() {
  static std::atomic<Isa> isa = chosen();
  return isa;
}

}  // namespace

std::string_view name(Isa isa) {
  switch (isa) {
    case Isa::plain:
      return "plain";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    case Isa::neon:
      return "neon";
  }
  fail("no such instruction set: {}", static_cast<int>(isa));
}

std::vector<Isa> supported_isas() {
  return detect();
}

Isa isa() {
  return current().load(std::memory_order_relaxed);
}

void set_isa(Isa isa) {
  check_supported(isa);
  current().store(isa);
}

std::string describe_isa() {
  return fmt::format("{} (this CPU has {})", name(isa()), names(supported_isas()));
}

}  // namespace spex
