#include "ops/dense_attention_kernels.h"

#include "ops/vector_rows.h"

namespace spex::SPEX_ISA {
namespace {

inline RowFloats score_part(const float* s, const float* bias, float scale, size_t i,
                            size_t numbers) {
  RowFloats t = scale * load_part(s + i, numbers, 0.0F);
  return bias ? t + load_part(bias + i, numbers, 0.0F) : t;
}

// p = softmax(p)
inline void softmax(float* p, size_t count) {
  float sum = softmax_terms(p, nullptr, 1.0F, largest_score(p, nullptr, 1.0F, count), count);
  for (size_t j = 0; j < count; ++j) p[j] /= sum;
}

// p = the weights with which token i of a head sees the others.
inline void token_weights(float* p, const TokenGroup& g, size_t i, size_t first) {
  size_t stride = g.heads * g.width;
  for (size_t j = 0; j < g.tokens; ++j)
    p[j] = g.scale * dot_row(g.q + i * stride + first, g.k + j * stride + first, g.width);
  softmax(p, g.tokens);
}

// From p and dp, the gradients of the scores: ds_j = p_j (dp_j - sum of p dp), in place of dp.
inline void softmax_backward(float* dp, const float* p, float scale, size_t count) {
  score_gradients(dp, p, dot_row(dp, p, count), scale, count);
}

inline void hop_weights(float* p, const Hops& h) {
  for (size_t k = 1; k < h.tokens; ++k) p[k - 1] = dot_row(h.u, h.t + k * h.width, h.width);
  softmax(p, h.tokens - 1);
}

}  // namespace

float largest_score(const float* s, const float* bias, float scale, size_t count) {
  RowFloats most = RowFloats{} - kInfinity;
  for (size_t i = 0; i < count; i += kStep) {
    size_t numbers = numbers_from(i, count);
    RowFloats t = score_part(s, bias, scale, i, numbers);
    if (numbers < kStep)
      for (size_t l = numbers; l < kStep; ++l) t[l] = -kInfinity;
    most = t > most ? t : most;
  }
  return largest_lane(most);
}

float softmax_terms(float* s, const float* bias, float scale, float shift, size_t count) {
  RowFloats sums{};
  for (size_t i = 0; i < count; i += kStep) {
    size_t numbers = numbers_from(i, count);
    RowFloats below = score_part(s, bias, scale, i, numbers) - shift;
    RowFloats e = below < -80.0F ? RowFloats{} : exponential(clamp(below, 80.0F));
    store_part(s + i, e, numbers);
    if (numbers < kStep)
      for (size_t l = numbers; l < kStep; ++l) e[l] = 0.0F;
    sums += e;
  }
  return sum_of(sums);
}

void score_gradients(float* dp, const float* p, float inner, float scale, size_t count) {
  for (size_t i = 0; i < count; i += kStep) {
    size_t numbers = numbers_from(i, count);
    RowFloats d = load_part(dp + i, numbers, 0.0F) - inner;
    store_part(dp + i, scale * load_part(p + i, numbers, 0.0F) * d, numbers);
  }
}

void token_forward(float* out, const TokenGroup& g) {
  size_t stride = g.heads * g.width;
  for (size_t i = 0; i < g.tokens; ++i)
    for (size_t first = 0; first < stride; first += g.width) {
      token_weights(g.scratch, g, i, first);
      float* to = out + i * stride + first;
      for (size_t d = 0; d < g.width; ++d) to[d] = 0.0F;
      for (size_t j = 0; j < g.tokens; ++j)
        add_row(to, g.v + j * stride + first, g.scratch[j], g.width);
    }
}

// dv_j = p_j dout_i, dp_j = dout_i . v_j, dq_i = scale ds_j k_j, dk_j = scale ds_j q_i, summed.
void token_backward(float* dq, float* dk, float* dv, const float* dout, const TokenGroup& g) {
  size_t stride = g.heads * g.width;
  float *p = g.scratch, *ds = g.scratch + g.tokens;
  for (size_t i = 0; i < g.tokens; ++i)
    for (size_t first = 0; first < stride; first += g.width) {
      size_t at = i * stride + first;
      token_weights(p, g, i, first);
      for (size_t j = 0; j < g.tokens; ++j)
        ds[j] = dot_row(dout + at, g.v + j * stride + first, g.width);
      softmax_backward(ds, p, g.scale, g.tokens);
      for (size_t j = 0; j < g.tokens; ++j) {
        size_t other = j * stride + first;
        if (dq) add_row(dq + at, g.k + other, ds[j], g.width);
        if (dk) add_row(dk + other, g.q + at, ds[j], g.width);
        if (dv) add_row(dv + other, dout + at, p[j], g.width);
      }
    }
}

void hop_forward(float* out, const Hops& h) {
  hop_weights(h.scratch, h);
  for (size_t d = 0; d < h.width; ++d) out[d] = h.t[d];
  for (size_t k = 1; k < h.tokens; ++k) add_row(out, h.t + k * h.width, h.scratch[k - 1], h.width);
}

// dt_0 = dout; with dp_k = dout . t_k: dt_k = p_k dout + ds_k u, du = sum of ds_k t_k.
void hop_backward(float* dt, float* du, const float* dout, const Hops& h) {
  float *p = h.scratch, *ds = h.scratch + h.tokens;
  hop_weights(p, h);
  for (size_t k = 1; k < h.tokens; ++k) ds[k - 1] = dot_row(dout, h.t + k * h.width, h.width);
  softmax_backward(ds, p, 1.0F, h.tokens - 1);
  if (dt) add_row(dt, dout, 1.0F, h.width);
  for (size_t k = 1; k < h.tokens; ++k) {
    if (dt) add_row(dt + k * h.width, dout, p[k - 1], h.width);
    if (dt) add_row(dt + k * h.width, h.u, ds[k - 1], h.width);
    if (du) add_row(du, h.t + k * h.width, ds[k - 1], h.width);
  }
}

}  // namespace spex::SPEX_ISA
