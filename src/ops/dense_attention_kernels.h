// The inner loops of dense attention.
#pragma once

#include <cstddef>

#include "core/dispatch.h"

namespace spex {

// With t_j = scale s_j + bias_j, where a null bias stands for zeros: the largest of them.
SPEX_KERNEL(float largest_score(const float* s, const float* bias, float scale, size_t count))

// s_j becomes exp(t_j - shift), zero where that is below exp(-80). Returns their sum.
SPEX_KERNEL(float softmax_terms(float* s, const float* bias, float scale, float shift,
                                size_t count))

// dp becomes scale p (dp - inner).
SPEX_KERNEL(void score_gradients(float* dp, const float* p, float inner, float scale, size_t count))

// Some consecutive rows of q, k and v, packed, that attend to each other.
struct TokenGroup {
  const float *q, *k, *v;
  size_t tokens, heads, width;  // width of one head
  float scale;
  float* scratch;  // token_scratch(tokens, width) numbers
};

// One number per token in whole vectors.
inline size_t token_lanes(size_t tokens) {
  return (tokens + 7) / 8 * 8;
}
// A transposed head, the weights, and the gradients of the scores.
inline size_t token_scratch(size_t tokens, size_t width) {
  return (width + 2 * tokens) * token_lanes(tokens);
}

SPEX_KERNEL(void token_forward(float* out, const TokenGroup& group))

// Adds to dq, dk and dv; any may be null.
SPEX_KERNEL(void token_backward(float* dq, float* dk, float* dv, const float* dout,
                                const TokenGroup& group))

// The tokens of one node: out = t_0 + sum_k p_k t_k, p = softmax(u . t_k), k from 1.
struct Hops {
  const float *t, *u;
  size_t tokens, width;
  float* scratch;  // 2 x tokens numbers
};

SPEX_KERNEL(void hop_forward(float* out, const Hops& hops))

// Adds to dt and du; either may be null.
SPEX_KERNEL(void hop_backward(float* dt, float* du, const float* dout, const Hops& hops))

}  // namespace spex
