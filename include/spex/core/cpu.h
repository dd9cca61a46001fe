// Which instruction set the kernels use. Each fast kernel is compiled for plain x86-64, AVX2 and
// AVX-512; the best one the CPU has is chosen when the program runs.
#pragma once

#include <string_view>
#include <vector>

namespace spex {

enum class Isa { plain, avx2, avx512 };

std::string_view name(Isa isa);
std::vector<Isa> supported_isas();  // in order of speed, the plain one first
Isa isa();                          // the one in use
void set_isa(Isa isa);              // for tests and benchmarks; throws if the CPU lacks it

}  // namespace spex
