// Which instruction set the kernels use. Each fast kernel is compiled for every set of the
// architecture (plain x86-64, AVX2 and AVX-512; NEON on 64-bit ARM); when the program runs, the
// best one the CPU has is chosen, or the one that the environment variable SPEX_ISA names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spex {

enum class Isa { plain, avx2, avx512, neon };

std::string_view name(Isa isa);
std::vector<Isa> supported_isas();  // what this CPU can run, in order of speed
Isa isa();                          // the one in use; throws if SPEX_ISA is not one of those
void set_isa(Isa isa);              // for tests and benchmarks; throws if the CPU lacks it

// "avx2 (this CPU has plain, avx2)": for reports and --version.
std::string describe_isa();

}  // namespace spex
