// Attention for heads of eight features: one head of at most eight, whose two vectors share a cache
// line, or two, four or eight heads.
#pragma once

#include "ops/attention_kernels.h"

namespace spex::SPEX_ISA {

// Whether these kernels take the call: there are no more heads than a vector has lanes, and edges
// have no features.
bool takes_eights(const AttentionView& v);

void eights_forward(const AttentionForward& c, size_t begin, size_t end);
void eights_scores(const AttentionScores& c, size_t begin, size_t end);
void eights_backward(const AttentionBackward& c, size_t begin, size_t end);

}  // namespace spex::SPEX_ISA
