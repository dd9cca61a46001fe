// Attention for one head of at most eight features, where a node's two vectors share one cache
// line. Only AVX-512 has kernels of its own for it; elsewhere the wide kernels do the work.
#pragma once

#include "ops/attention_kernels.h"

namespace spex::SPEX_ISA {

void narrow_forward(const AttentionForward& c, size_t begin, size_t end);
void narrow_backward(const AttentionBackward& c, size_t begin, size_t end);

}  // namespace spex::SPEX_ISA
