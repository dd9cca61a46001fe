// Attention over rows of any width. Up to sixteen edges of a row, whatever their types, form a
// tile: the scores of all its heads are computed four at a time, exponentials sixteen at a time,
// and the weighted sums keep their accumulator in a register. Scores of a tile lie as [edge][head].
#include "ops/attention_eights.h"
#include "ops/attention_lanes.h"

namespace spex::SPEX_ISA {
namespace {

constexpr size_t kScores = kTile * kMaxAttentionHeads;

// The number of heads: a constant for the common ones, so that loops over heads are unrolled.
template <size_t H>
inline size_t head_count(const AttentionView& v) {
  return H > 0 ? H : v.heads;
}

constexpr EdgeOffset kAhead = 12;  // edges between asking for a row and using it

struct Tile {
  EdgeOffset first;
  size_t count;
  const float* x[kTile];
  const float* y[kTile];
  uint8_t type[kTile];
};

// The type of an edge ahead is not known; that of the edge at hand is a good guess.
inline void prefetch(const AttentionView& v, EdgeOffset edge, size_t type) {
  if (!v.prefetch || edge >= v.pattern.edges) return;
  size_t id = v.pattern.neighbours[edge];
  const float* x = v.table.x + id * v.table.x_stride + type * v.table.type_stride;
  const float* y = v.table.y + id * v.table.stride;
  for (size_t c = 0; c < v.heads * v.width; c += 16) __builtin_prefetch(x + c);
  if (x == y) return;
  for (size_t c = 0; c < v.heads * v.width; c += 16) __builtin_prefetch(y + c);
}

inline void fill_tile(Tile& tile, const AttentionView& v, const EdgeOffset* bounds,
                      EdgeOffset first) {
  EdgeOffset left = bounds[v.pattern.types] - first;
  tile.first = first;
  tile.count = left < kTile ? left : kTile;
  size_t type = 0;
  for (size_t e = 0; e < tile.count; ++e) {
    while (first + e >= bounds[type + 1]) ++type;
    prefetch(v, first + e + kAhead, type);
    size_t id = v.pattern.neighbours[first + e];
    tile.x[e] = v.table.x + id * v.table.x_stride + type * v.table.type_stride;
    tile.y[e] = v.table.y + id * v.table.stride;
    tile.type[e] = static_cast<uint8_t>(type);
  }
}

// to[e][h] = a_e,h . row_e,h
template <class V, size_t H>
inline void dots(float* to, const float* const* a, const float* const* rows, const AttentionView& v,
                 size_t count) {
  const float* left[kScores + 4];
  const float* right[kScores + 4];
  size_t pairs = 0;
  for (size_t e = 0; e < count; ++e)
    for (size_t h = 0; h < head_count<H>(v); ++h, ++pairs) {
      left[pairs] = a[e] + h * v.width;
      right[pairs] = rows[e] + h * v.width;
    }
  for (size_t p = pairs; p % 4 != 0; ++p) {  // the last group is completed with copies
    left[p] = left[0];
    right[p] = right[0];
  }
  for (size_t p = 0; p < pairs; p += 4) {
    V product[4];
    for (size_t i = 0; i < 4; ++i) product[i] = load<V>(left[p + i]) * load<V>(right[p + i]);
    for (size_t c = lanes<V>; c < v.width; c += lanes<V>)
      for (size_t i = 0; i < 4; ++i)
        product[i] += load<V>(left[p + i] + c) * load<V>(right[p + i] + c);
    store(to + p, sums(product[0], product[1], product[2], product[3]));
  }
}

// Dot products become weights. Where `uncut` is given it gets 1 where the clamp did nothing, else
// 0.
template <size_t H>
inline void weights(float* s, float* uncut, const AttentionView& v, const Tile& tile) {
  size_t heads = head_count<H>(v);
  for (size_t e = 0; e < tile.count; ++e)
    for (size_t h = 0; h < heads; ++h) {
      s[e * heads + h] += v.bias[tile.type[e] * heads + h];
      if (v.pattern.values)
        s[e * heads + h] += v.value_weight[h] * v.pattern.values[tile.first + e];
    }
  for (size_t p = 0; p < tile.count * heads; p += 16) {
    F16 x = load<F16>(s + p);
    F16 bounded = clamp(x, v.clamp);
    store(s + p, exponential(bounded));
    if (uncut) store(uncut + p, bounded == x ? F16{} + 1.0F : F16{});
  }
}

// to_h += sum over edges [begin, end) of w[e][h] row_e,h
template <class V, size_t H>
inline void weighted_sum(float* to, const float* w, const float* const* rows,
                         const AttentionView& v, size_t begin, size_t end) {
  for (size_t h = 0; h < head_count<H>(v); ++h)
    for (size_t c = h * v.width; c < (h + 1) * v.width; c += lanes<V>) {
      V part = V{};  // summed apart from the total: long rows lose fewer digits
      for (size_t e = begin; e < end; ++e)
        part += load<V>(rows[e] + c) * w[e * head_count<H>(v) + h];
      store(to + c, load<V>(to + c) + part);
    }
}

// The row's own vector times every type's modulation; folded, that is what the rows are.
template <class V, size_t H>
inline const float* modulate(float* room, const float* row, const AttentionView& v) {
  size_t width = head_count<H>(v) * v.width;
  if (v.folded) return row;
  for (size_t t = 0; t < v.pattern.types; ++t)
    multiply<V>(room + t * width, row, v.mod + t * width, width);
  return room;
}

// Each edge's view of a table with one row per type.
inline void by_type(const float** to, const float* table, const Tile& tile, size_t width) {
  for (size_t e = 0; e < tile.count; ++e) to[e] = table + tile.type[e] * width;
}

// Calls body(tile, weights [e][h]) for every tile of a row.
template <class V, size_t H, class Body>
inline void for_weights(const AttentionView& v, const float* q, size_t row, Body&& body) {
  alignas(64) float room[kMaxEdgeTypes * kMaxAttentionWidth];
  alignas(64) float w[kScores];
  EdgeOffset bounds[kMaxEdgeTypes + 1];
  row_bounds(v.pattern, row, bounds);
  const float* own = q + row * v.query_floats();
  ask_ahead(own, v.query_floats(), v.query_floats());
  const float* a = modulate<V, H>(room, own, v);
  Tile tile;
  const float* left[kTile];
  for (EdgeOffset e = bounds[0]; e < bounds[v.pattern.types]; e += kTile) {
    fill_tile(tile, v, bounds, e);
    by_type(left, a, tile, head_count<H>(v) * v.width);
    dots<V, H>(w, left, tile.x, v, tile.count);
    weights<H>(w, nullptr, v, tile);
    body(tile, w);
  }
}

template <class V, size_t H>
void forward_row(const AttentionForward& c, size_t row) {
  const AttentionView& v = c.view;
  size_t width = head_count<H>(v) * v.width;
  float totals[kMaxAttentionHeads] = {};
  float* out = c.out + row * width;
  ask_ahead(out, width, width);
  clear<V>(out, width);
  for_weights<V, H>(v, c.q, row, [&](const Tile& tile, const float* w) {
    for (size_t h = 0; h < head_count<H>(v); ++h) {
      float part = 0.0F;
      for (size_t e = 0; e < tile.count; ++e) part += w[e * head_count<H>(v) + h];
      totals[h] += part;
    }
    weighted_sum<V, H>(out, w, tile.y, v, 0, tile.count);
  });
  for (size_t h = 0; h < head_count<H>(v); ++h) {
    float inverse = 1.0F / (totals[h] + kSoftmaxEpsilon);
    c.inverse_sum[row * head_count<H>(v) + h] = inverse;
    for (size_t d = h * v.width; d < (h + 1) * v.width; d += lanes<V>)
      store(out + d, load<V>(out + d) * inverse);
  }
}

template <class V, size_t H>
void scores_row(const AttentionScores& c, size_t row) {
  const AttentionView& v = c.view;
  float totals[kMaxAttentionHeads] = {};
  EdgeOffset begin = ~EdgeOffset{0}, end = 0;
  for_weights<V, H>(v, c.q, row, [&](const Tile& tile, const float* w) {
    begin = tile.first < begin ? tile.first : begin;
    end = tile.first + tile.count;
    for (size_t h = 0; h < head_count<H>(v); ++h) {
      float part = 0.0F;
      for (size_t e = 0; e < tile.count; ++e) {
        part += w[e * head_count<H>(v) + h];
        c.scores[(tile.first - c.first_edge + e) * head_count<H>(v) + h] =
            w[e * head_count<H>(v) + h];
      }
      totals[h] += part;
    }
  });
  for (EdgeOffset e = begin; e < end; ++e)
    for (size_t h = 0; h < head_count<H>(v); ++h)
      c.scores[(e - c.first_edge) * head_count<H>(v) + h] /= totals[h];
}

// s: weights in, ds out. u holds g . v.
template <size_t H>
inline void score_gradients(float* s, const float* u, const float* uncut,
                            const AttentionBackward& c, size_t row, const Tile& tile) {
  size_t heads = head_count<H>(c.view);
  for (size_t e = 0; e < tile.count; ++e) {
    size_t query = c.key_side ? c.view.pattern.neighbours[tile.first + e] : row;
    for (size_t h = 0; h < heads; ++h)
      s[e * heads + h] *= uncut[e * heads + h] * (u[e * heads + h] - c.delta[query * heads + h]);
  }
}

template <size_t H>
inline void add_bias_gradients(const AttentionBackward& c, const float* ds, const Tile& tile) {
  size_t heads = head_count<H>(c.view);
  for (size_t e = 0; e < tile.count; ++e)
    for (size_t h = 0; h < heads; ++h) {
      c.dbias[tile.type[e] * heads + h] += ds[e * heads + h];
      if (c.dweight) c.dweight[h] += ds[e * heads + h] * c.view.pattern.values[tile.first + e];
    }
}

// A key is its own value and meets each type's vector of a query, so one sum takes all.
template <class V>
void backward_folded_key(const AttentionBackward& c, size_t row) {
  const AttentionView& v = c.view;
  alignas(64) float s[kTile];
  alignas(64) float u[kTile];
  alignas(64) float uncut[kTile];
  EdgeOffset bounds[kMaxEdgeTypes + 1];
  row_bounds(v.pattern, row, bounds);
  const float* row_x = c.row_x + row * c.x_stride;
  float* dx = c.dx + row * c.x_stride;
  ask_ahead(row_x, c.x_stride, v.width);
  ask_ahead(dx, c.x_stride, v.width);
  clear<V>(dx, v.width);
  Tile tile;
  const float* own[kTile];
  for (size_t e = 0; e < kTile; ++e) own[e] = row_x;
  for (EdgeOffset first = bounds[0]; first < bounds[v.pattern.types]; first += kTile) {
    fill_tile(tile, v, bounds, first);
    dots<V, 1>(s, own, tile.x, v, tile.count);
    dots<V, 1>(u, own, tile.y, v, tile.count);
    weights<1>(s, uncut, v, tile);
    weighted_sum<V, 1>(dx, s, tile.y, v, 0, tile.count);
    score_gradients<1>(s, u, uncut, c, row, tile);
    weighted_sum<V, 1>(dx, s, tile.x, v, 0, tile.count);
  }
}

template <class V, size_t H>
void backward_row(const AttentionBackward& c, size_t row) {
  const AttentionView& v = c.view;
  if (v.folded && c.key_side) return backward_folded_key<V>(c, row);
  size_t width = head_count<H>(v) * v.width;
  size_t types = v.pattern.types;
  alignas(64) float room[kMaxEdgeTypes * kMaxAttentionWidth];
  alignas(64) float da_room[kMaxEdgeTypes * kMaxAttentionWidth];
  const float* row_x = c.row_x + row * c.x_stride;
  float* dx = c.dx + row * c.x_stride;
  float* dy = c.key_side ? c.dy + row * c.y_stride : nullptr;
  float* da = v.folded ? dx : da_room;
  alignas(64) float s[kScores];
  alignas(64) float u[kScores];
  alignas(64) float uncut[kScores];
  EdgeOffset bounds[kMaxEdgeTypes + 1];
  row_bounds(v.pattern, row, bounds);
  ask_ahead(row_x, c.x_stride, v.query_floats());
  ask_ahead(dx, c.x_stride, v.query_floats());
  ask_ahead(c.row_y + row * c.y_stride, c.y_stride, width);
  if (dy) ask_ahead(dy, c.y_stride, width);
  const float* a = modulate<V, H>(room, row_x, v);
  clear<V>(da, types * width);
  if (dy) clear<V>(dy, width);
  Tile tile;
  const float* left[kTile];
  const float* row_y[kTile];
  for (size_t e = 0; e < kTile; ++e) row_y[e] = c.row_y + row * c.y_stride;
  for (EdgeOffset first = bounds[0]; first < bounds[types]; first += kTile) {
    fill_tile(tile, v, bounds, first);
    by_type(left, a, tile, width);
    dots<V, H>(s, left, tile.x, v, tile.count);
    dots<V, H>(u, row_y, tile.y, v, tile.count);
    weights<H>(s, uncut, v, tile);
    if (dy) weighted_sum<V, H>(dy, s, tile.y, v, 0, tile.count);
    score_gradients<H>(s, u, uncut, c, row, tile);
    for (size_t begin = 0, end; begin < tile.count; begin = end) {  // runs of one type
      for (end = begin + 1; end < tile.count && tile.type[end] == tile.type[begin];) ++end;
      weighted_sum<V, H>(da + tile.type[begin] * width, s, tile.x, v, begin, end);
    }
    if (!c.key_side) add_bias_gradients<H>(c, s, tile);
  }
  if (v.folded) return;
  clear<V>(dx, width);
  for (size_t t = 0; t < types; ++t) {
    if (bounds[t] == bounds[t + 1]) continue;
    multiply_add<V>(dx, da + t * width, v.mod + t * width, width);
    if (!c.key_side) multiply_add<V>(c.dmod + t * width, da + t * width, row_x, width);
  }
}

template <class V, size_t H>
void forward_rows(const AttentionForward& c, size_t begin, size_t end) {
  for (size_t row = begin; row < end; ++row) forward_row<V, H>(c, row);
}
template <class V, size_t H>
void scores_rows(const AttentionScores& c, size_t begin, size_t end) {
  for (size_t row = begin; row < end; ++row) scores_row<V, H>(c, row);
}
template <class V, size_t H>
void backward_rows(const AttentionBackward& c, size_t begin, size_t end) {
  for (size_t row = begin; row < end; ++row) backward_row<V, H>(c, row);
}

}  // namespace

// Calls rows<V, H> for the vector and the number of heads that fit.
#define SPEX_WIDE(rows)                                                    \
  do {                                                                     \
    size_t width = c.view.width, heads = c.view.heads;                     \
    if (width % 16 == 0 && heads == 1) return rows<F16, 1>(c, begin, end); \
    if (width % 16 == 0 && heads == 2) return rows<F16, 2>(c, begin, end); \
    if (width % 16 == 0) return rows<F16, 0>(c, begin, end);               \
    if (width % 8 == 0 && heads == 4) return rows<F8, 4>(c, begin, end);   \
    if (width % 8 == 0) return rows<F8, 0>(c, begin, end);                 \
    rows<F4, 0>(c, begin, end);                                            \
  } while (false)

void attention_forward(const AttentionForward& c, size_t begin, size_t end) {
#ifdef __AVX512F__
  if (c.view.eights) return eights_forward(c, begin, end);
#endif
  SPEX_WIDE(forward_rows);
}

void attention_scores(const AttentionScores& c, size_t begin, size_t end) {
  SPEX_WIDE(scores_rows);
}

void attention_backward(const AttentionBackward& c, size_t begin, size_t end) {
#ifdef __AVX512F__
  if (c.view.eights) return eights_backward(c, begin, end);
#endif
  SPEX_WIDE(backward_rows);
}

#undef SPEX_WIDE

}  // namespace spex::SPEX_ISA
