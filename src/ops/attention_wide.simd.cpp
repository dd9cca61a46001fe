// Attention over rows of any width: per tile of sixteen edges, the scores of every head, one vector
// exponential per head, then the weighted sums with the accumulator in registers.
#include "ops/attention_lanes.h"
#include "ops/attention_narrow.h"

namespace spex::SPEX_ISA {
namespace {

// One tile: `count` edges of one type starting at `first`.
struct Tile {
  const NodeId* ids;
  EdgeOffset first;
  size_t count;
};

// Rows of edges some way ahead are asked for now: by the time they are needed they have arrived.
inline void prefetch_row(const AttentionView& v, EdgeOffset edge, size_t floats) {
  constexpr EdgeOffset kAhead = 12;
  if (edge + kAhead >= v.pattern.edges) return;
  size_t at = v.pattern.neighbours[edge + kAhead] * v.table.stride;
  for (size_t c = 0; c < floats; c += 16) {
    __builtin_prefetch(v.table.x + at + c);
    __builtin_prefetch(v.table.y + at + c);
  }
}

// to[h * kTile + e] = a_h . table_e,h
template <class V>
inline void dots(float* to, const float* a, const float* table, const AttentionView& v,
                 const Tile& tile) {
  size_t d = v.width;
  for (size_t e = 0; e < tile.count; ++e) {
    const float* row = table + tile.ids[e] * v.table.stride;
    for (size_t h = 0; h < v.heads; ++h) {
      V product = load<V>(a + h * d) * load<V>(row + h * d);
      for (size_t c = lanes<V>; c < d; c += lanes<V>)
        product += load<V>(a + h * d + c) * load<V>(row + h * d + c);
      to[h * kTile + e] = sum(product);
    }
  }
}

// Raw scores become weights, zero behind the tile's end; cut[] says where the clamp did nothing.
inline void weights(float* s, float* uncut, const AttentionView& v, size_t type, const Tile& tile) {
  for (size_t h = 0; h < v.heads; ++h) {
    float* score = s + h * kTile;
    for (size_t e = tile.count; e < kTile; ++e) score[e] = 0.0F;
    F16 x = load<F16>(score) + v.bias[type * v.heads + h];
    if (v.pattern.values) {
      float value[kTile] = {};
      for (size_t e = 0; e < tile.count; ++e) value[e] = v.pattern.values[tile.first + e];
      x += load<F16>(value) * v.value_weight[h];
    }
    F16 bounded = clamp(x, v.clamp);
    store(score, exponential(bounded));
    if (uncut) store(uncut + h * kTile, bounded == x ? F16{} + 1.0F : F16{});
    for (size_t e = tile.count; e < kTile; ++e) score[e] = 0.0F;
  }
}

// to_h += sum_e w[h][e] table_e,h
template <class V>
inline void weighted_sum(float* to, const float* w, const float* table, const AttentionView& v,
                         const Tile& tile) {
  for (size_t h = 0; h < v.heads; ++h)
    for (size_t c = h * v.width; c < (h + 1) * v.width; c += lanes<V>) {
      V total = load<V>(to + c);
      for (size_t e = 0; e < tile.count; ++e)
        total += load<V>(table + tile.ids[e] * v.table.stride + c) * w[h * kTile + e];
      store(to + c, total);
    }
}

// Calls body(tile) for every tile of the edges [begin, end).
template <class Body>
inline void for_tiles(const AttentionView& v, EdgeOffset begin, EdgeOffset end, Body&& body) {
  for (EdgeOffset e = begin; e < end; e += kTile) {
    size_t count = end - e < kTile ? end - e : kTile;
    for (size_t p = 0; p < count; ++p) prefetch_row(v, e + p, v.heads * v.width);
    body(Tile{v.pattern.neighbours + e, e, count});
  }
}

template <class V>
void forward_row(const AttentionForward& c, size_t row) {
  const AttentionView& v = c.view;
  size_t width = v.heads * v.width;
  alignas(64) float a[kMaxAttentionWidth];
  alignas(64) float w[kMaxAttentionHeads * kTile];
  float sums[kMaxAttentionHeads] = {};
  EdgeOffset bounds[kMaxEdgeTypes + 1];
  row_bounds(v.pattern, row, bounds);
  float* out = c.out + row * width;
  clear<V>(out, width);
  for (size_t t = 0; t < v.pattern.types; ++t) {
    if (bounds[t] == bounds[t + 1]) continue;
    multiply<V>(a, c.q + row * width, v.mod + t * width, width);
    for_tiles(v, bounds[t], bounds[t + 1], [&](const Tile& tile) {
      dots<V>(w, a, v.table.x, v, tile);
      weights(w, nullptr, v, t, tile);
      for (size_t h = 0; h < v.heads; ++h) sums[h] += sum(load<F16>(w + h * kTile));
      weighted_sum<V>(out, w, v.table.y, v, tile);
    });
  }
  for (size_t h = 0; h < v.heads; ++h) {
    float inverse = 1.0F / (sums[h] + kSoftmaxEpsilon);
    c.inverse_sum[row * v.heads + h] = inverse;
    for (size_t d = h * v.width; d < (h + 1) * v.width; d += lanes<V>)
      store(out + d, load<V>(out + d) * inverse);
  }
}

template <class V>
void scores_row(const AttentionScores& c, size_t row) {
  const AttentionView& v = c.view;
  size_t width = v.heads * v.width;
  alignas(64) float a[kMaxAttentionWidth];
  alignas(64) float w[kMaxAttentionHeads * kTile];
  float sums[kMaxAttentionHeads] = {};
  EdgeOffset bounds[kMaxEdgeTypes + 1];
  row_bounds(v.pattern, row, bounds);
  for (size_t t = 0; t < v.pattern.types; ++t) {
    if (bounds[t] == bounds[t + 1]) continue;
    multiply<V>(a, c.q + row * width, v.mod + t * width, width);
    for_tiles(v, bounds[t], bounds[t + 1], [&](const Tile& tile) {
      dots<V>(w, a, v.table.x, v, tile);
      weights(w, nullptr, v, t, tile);
      for (size_t h = 0; h < v.heads; ++h) {
        sums[h] += sum(load<F16>(w + h * kTile));
        for (size_t e = 0; e < tile.count; ++e)
          c.scores[(tile.first - c.first_edge + e) * v.heads + h] = w[h * kTile + e];
      }
    });
  }
  for (EdgeOffset e = bounds[0]; e < bounds[v.pattern.types]; ++e)
    for (size_t h = 0; h < v.heads; ++h) c.scores[(e - c.first_edge) * v.heads + h] /= sums[h];
}

// s: weights in, ds out. u holds g . v.
inline void score_gradients(float* s, const float* u, const float* uncut,
                            const AttentionBackward& c, size_t row, const Tile& tile) {
  size_t heads = c.view.heads;
  for (size_t h = 0; h < heads; ++h)
    for (size_t e = 0; e < tile.count; ++e) {
      size_t query = c.key_side ? tile.ids[e] : row;
      s[h * kTile + e] *= uncut[h * kTile + e] * (u[h * kTile + e] - c.delta[query * heads + h]);
    }
}

inline void add_bias_gradients(const AttentionBackward& c, size_t type, const float* ds,
                               const Tile& tile) {
  for (size_t h = 0; h < c.view.heads; ++h)
    for (size_t e = 0; e < tile.count; ++e) {
      c.dbias[type * c.view.heads + h] += ds[h * kTile + e];
      if (c.dweight) c.dweight[h] += ds[h * kTile + e] * c.view.pattern.values[tile.first + e];
    }
}

template <class V>
void backward_row(const AttentionBackward& c, size_t row) {
  const AttentionView& v = c.view;
  size_t width = v.heads * v.width;
  alignas(64) float a[kMaxAttentionWidth];
  alignas(64) float da[kMaxAttentionWidth];
  alignas(64) float s[kMaxAttentionHeads * kTile];
  alignas(64) float u[kMaxAttentionHeads * kTile];
  alignas(64) float uncut[kMaxAttentionHeads * kTile];
  EdgeOffset bounds[kMaxEdgeTypes + 1];
  row_bounds(v.pattern, row, bounds);
  const float* row_x = c.row_x + row * width;
  float* dx = c.dx + row * width;
  clear<V>(dx, width);
  if (c.key_side) clear<V>(c.dy + row * width, width);
  for (size_t t = 0; t < v.pattern.types; ++t) {
    if (bounds[t] == bounds[t + 1]) continue;
    multiply<V>(a, row_x, v.mod + t * width, width);
    clear<V>(da, width);
    for_tiles(v, bounds[t], bounds[t + 1], [&](const Tile& tile) {
      dots<V>(s, a, v.table.x, v, tile);
      dots<V>(u, c.row_y + row * width, v.table.y, v, tile);
      weights(s, uncut, v, t, tile);
      if (c.key_side) weighted_sum<V>(c.dy + row * width, s, v.table.y, v, tile);
      score_gradients(s, u, uncut, c, row, tile);
      weighted_sum<V>(da, s, v.table.x, v, tile);
      if (!c.key_side) add_bias_gradients(c, t, s, tile);
    });
    multiply_add<V>(dx, da, v.mod + t * width, width);
    if (!c.key_side) multiply_add<V>(c.dmod + t * width, da, row_x, width);
  }
}

template <class V>
void forward_rows(const AttentionForward& c, size_t begin, size_t end) {
  for (size_t row = begin; row < end; ++row) forward_row<V>(c, row);
}
template <class V>
void scores_rows(const AttentionScores& c, size_t begin, size_t end) {
  for (size_t row = begin; row < end; ++row) scores_row<V>(c, row);
}
template <class V>
void backward_rows(const AttentionBackward& c, size_t begin, size_t end) {
  for (size_t row = begin; row < end; ++row) backward_row<V>(c, row);
}

}  // namespace

void attention_forward(const AttentionForward& c, size_t begin, size_t end) {
#ifdef __AVX512F__
  if (c.view.packed) return narrow_forward(c, begin, end);
#endif
  if (c.view.width % 16 == 0) return forward_rows<F16>(c, begin, end);
  if (c.view.width % 8 == 0) return forward_rows<F8>(c, begin, end);
  forward_rows<F4>(c, begin, end);
}

void attention_scores(const AttentionScores& c, size_t begin, size_t end) {
  if (c.view.width % 16 == 0) return scores_rows<F16>(c, begin, end);
  if (c.view.width % 8 == 0) return scores_rows<F8>(c, begin, end);
  scores_rows<F4>(c, begin, end);
}

void attention_backward(const AttentionBackward& c, size_t begin, size_t end) {
#ifdef __AVX512F__
  if (c.view.packed) return narrow_backward(c, begin, end);
#endif
  if (c.view.width % 16 == 0) return backward_rows<F16>(c, begin, end);
  if (c.view.width % 8 == 0) return backward_rows<F8>(c, begin, end);
  backward_rows<F4>(c, begin, end);
}

}  // namespace spex::SPEX_ISA
