// Attention for heads of eight features: one head of at most eight, whose two vectors share a cache
// line (packed), or two, four or eight heads. Only AVX-512 has kernels of its own for them;
// elsewhere the wide kernels do the work.
#pragma once

#include "ops/attention_kernels.h"

namespace spex::SPEX_ISA {

void eights_forward(const AttentionForward& c, size_t begin, size_t end);
void eights_backward(const AttentionBackward& c, size_t begin, size_t end);

}  // namespace spex::SPEX_ISA
