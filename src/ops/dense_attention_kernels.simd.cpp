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
  float inverse = 1.0F / sum;
  for (size_t j = 0; j < count; ++j) p[j] *= inverse;
}

// One head of a group: rows of `width` numbers that stand `stride` apart.
struct TokenHead {
  const TokenGroup& g;
  size_t first, stride, lanes;  // the head's first column

  // y += sum_j weights[j step] rows[j]
  void add_rows(float* y, const float* weights, size_t step, const float* rows) const {
    for (size_t d = 0; d < g.width; d += kStep) {
      size_t numbers = numbers_from(d, g.width);
      RowFloats sum = load_part(y + first + d, numbers, 0.0F);
      for (size_t j = 0; j < g.tokens; ++j)
        sum += weights[j * step] * load_part(rows + j * stride + first + d, numbers, 0.0F);
      store_part(y + first + d, sum, numbers);
    }
  }

  // products[i lanes + j] = scale a_i . b_j; behind the last j, zeros. A vector holds several j.
  void multiply(float* products, const float* a, const float* b, float scale) const {
    float* turned = g.scratch;
    for (size_t d = 0; d < g.width; ++d) {
      for (size_t j = 0; j < g.tokens; ++j) turned[d * lanes + j] = b[j * stride + first + d];
      for (size_t j = g.tokens; j < lanes; ++j) turned[d * lanes + j] = 0.0F;
    }
    for (size_t i = 0; i < g.tokens; ++i)
      for (size_t j = 0; j < lanes; j += kStep) {
        RowFloats sum{};
        for (size_t d = 0; d < g.width; ++d)
          sum += a[i * stride + first + d] * load<RowFloats>(turned + d * lanes + j);
        store(products + i * lanes + j, scale * sum);
      }
  }

  // The weights with which each token sees the others: tokens x lanes.
  float* weights() const {
    float* p = g.scratch + g.width * lanes;
    multiply(p, g.q, g.k, g.scale);
    for (size_t i = 0; i < g.tokens; ++i) {
      for (size_t j = g.tokens; j < lanes; ++j) p[i * lanes + j] = -kInfinity;
      softmax(p + i * lanes, lanes);
    }
    return p;
  }
};

inline TokenHead token_head(const TokenGroup& g, size_t h) {
  return {g, h * g.width, g.heads * g.width, token_lanes(g.tokens)};
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
  for (size_t h = 0; h < g.heads; ++h) {
    TokenHead head = token_head(g, h);
    const float* p = head.weights();
    for (size_t i = 0; i < g.tokens; ++i) {
      float* to = out + i * head.stride;
      for (size_t d = 0; d < g.width; ++d) to[head.first + d] = 0.0F;
      head.add_rows(to, p + i * head.lanes, 1, g.v);
    }
  }
}

// With dp_ij = dout_i . v_j: dv_j = sum_i p_ij dout_i, dq_i = scale sum_j ds_ij k_j,
// dk_j = scale sum_i ds_ij q_i.
void token_backward(float* dq, float* dk, float* dv, const float* dout, const TokenGroup& g) {
  for (size_t h = 0; h < g.heads; ++h) {
    TokenHead head = token_head(g, h);
    size_t lanes = head.lanes;
    const float* p = head.weights();
    float* ds = g.scratch + (g.width + g.tokens) * lanes;
    head.multiply(ds, dout, g.v, 1.0F);
    for (size_t i = 0; i < g.tokens; ++i)
      softmax_backward(ds + i * lanes, p + i * lanes, g.scale, lanes);
    for (size_t i = 0; i < g.tokens; ++i) {
      size_t row = i * head.stride;
      if (dq) head.add_rows(dq + row, ds + i * lanes, 1, g.k);
      if (dk) head.add_rows(dk + row, ds + i, lanes, g.q);
      if (dv) head.add_rows(dv + row, p + i, lanes, dout);
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
