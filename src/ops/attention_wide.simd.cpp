// Attention over rows of any width. Up to sixteen edges of a row, whatever their types, form a
// tile, and each head of it is worked on by itself: dot products of eight edges at a time, one
// exponential for as many edges as a vector has lanes, weighted sums with their accumulators in
// registers. The rows of a tile stay in the nearest cache from head to head. Edges with features
// are attention_edges.h's.
#include "ops/attention_edges.h"
#include "ops/attention_eights.h"

namespace spex::SPEX_ISA {
namespace {

// What a kernel is compiled for: vectors, edges with or without features, and either any heads and
// widths or, with kWidth, one head of that width.
template <class V, bool kFeatures, size_t kWidth = 0>
struct Kind {
  using Vector = V;
  static constexpr bool features = kFeatures;
  static size_t width(const AttentionView& v) { return kWidth ? kWidth : v.width; }
  static size_t heads(const AttentionView& v) { return kWidth ? 1 : v.heads; }
};

// to = a * b, over a whole row.
template <class V>
inline void multiply(float* to, const float* a, const float* b, size_t count) {
  for (size_t c = 0; c < count; c += lanes<V>) store(to + c, load<V>(a + c) * load<V>(b + c));
}

// to += a * b.
template <class V>
inline void multiply_add(float* to, const float* a, const float* b, size_t count) {
  for (size_t c = 0; c < count; c += lanes<V>)
    store(to + c, load<V>(to + c) + load<V>(a + c) * load<V>(b + c));
}

template <class V>
inline void clear(float* to, size_t count) {
  for (size_t c = 0; c < count; c += lanes<V>) store(to + c, V{});
}

// The row's own vector times every type's modulation; folded, that is what the rows are.
template <class V>
inline const float* modulate(float* room, const float* row, const AttentionView& v) {
  size_t width = v.heads * v.width;
  if (v.folded()) return row;
  for (size_t t = 0; t < v.pattern.types; ++t)
    multiply<V>(room + t * width, row, v.mod + t * width, width);
  return room;
}

// Of numbers that are zero behind the tile's last edge.
inline float sum_of(const float* w, size_t count) {
  Floats sums{};
  for (size_t e = 0; e < count; e += kLanes) sums += load<Floats>(w + e);
  for (int step = 1; step < static_cast<int>(kLanes); step *= 2)
    sums += __builtin_shuffle(sums, lane_numbers() ^ step);
  return sums[0];
}

// A head's dot products of a tile's edges with the row's own vector, of which `a` are the products
// with the types' modulations. kKeep: for gradients, the edges' modulations are kept.
template <class K, bool kKeep>
inline void products(float* to, const float* own, const float* a, const Tile& tile, EdgeTile& edges,
                     const AttentionView& v, size_t head) {
  using V = typename K::Vector;
  size_t width = K::width(v), row = K::heads(v) * width, at = head * width, begin = 0;
  if (K::features && edges.count > 0) {
    edge_dots<V, kKeep>(to, own + at, edges, tile, v, at, width, row);
    add_edge_bias(to, v, edges, head);
    begin = edges.grouped;
  }
  dots_by_type<V>(to, a + at, row, tile, at, width, begin);
}

// Calls body(tile, head, weights) for every head of every tile of a row.
template <class K, class Body>
inline void for_weights(const AttentionView& v, const float* q, size_t row, Body&& body) {
  using V = typename K::Vector;
  alignas(64) float room[kMaxEdgeTypes * kMaxAttentionWidth];
  alignas(64) float w[kTile] = {};
  EdgeOffset bounds[kMaxEdgeTypes + 1];
  row_bounds(v.pattern, row, bounds);
  const float* own = q + row * v.query_floats();
  ask_ahead(own, v.query_floats(), v.query_floats());
  const float* a = modulate<V>(room, own, v);
  const float* features = K::features ? row_features(v.pattern, row, bounds[0]) : nullptr;
  Tile tile;
  EdgeTile edges;
  for (EdgeOffset e = bounds[0]; e < bounds[v.pattern.types]; e += kTile) {
    fill_tile(tile, v, bounds, e);
    if (K::features) fill_edges(edges, tile, v, bounds, features);
    for (size_t h = 0; h < K::heads(v); ++h) {
      products<K, false>(w, own, a, tile, edges, v, h);
      weights(w, v, tile, h);
      body(tile, h, w);
    }
  }
}

template <class K>
void forward_row(const AttentionForward& c, size_t row) {
  using V = typename K::Vector;
  const AttentionView& v = c.view;
  size_t head_width = K::width(v), width = K::heads(v) * head_width;
  float totals[kMaxAttentionHeads] = {};
  float* out = c.out + row * width;
  ask_ahead(out, width, width);
  clear<V>(out, width);
  for_weights<K>(v, c.q, row, [&](const Tile& tile, size_t h, const float* w) {
    totals[h] += sum_of(w, tile.count);
    weighted_sum<V>(out + h * head_width, w, tile.y, h * head_width, head_width, 0, tile.count);
  });
  for (size_t h = 0; h < K::heads(v); ++h) {
    float inverse = 1.0F / (totals[h] + kSoftmaxEpsilon);
    c.inverse_sum[row * v.heads + h] = inverse;
    for (size_t d = h * head_width; d < (h + 1) * head_width; d += lanes<V>)
      store(out + d, load<V>(out + d) * inverse);
  }
}

template <class K>
void scores_row(const AttentionScores& c, size_t row) {
  const AttentionView& v = c.view;
  float totals[kMaxAttentionHeads] = {};
  EdgeOffset begin = ~EdgeOffset{0}, end = 0;
  for_weights<K>(v, c.q, row, [&](const Tile& tile, size_t h, const float* w) {
    begin = tile.first < begin ? tile.first : begin;
    end = tile.first + tile.count;
    totals[h] += sum_of(w, tile.count);
    float* to = c.scores + (tile.first - c.first_edge) * v.heads + h;
    for (size_t e = 0; e < tile.count; ++e) to[e * v.heads] = w[e];
  });
  for (EdgeOffset e = begin; e < end; ++e)
    for (size_t h = 0; h < v.heads; ++h) c.scores[(e - c.first_edge) * v.heads + h] /= totals[h];
}

// delta of the queries of edges from `e` on.
inline Floats deltas(const AttentionBackward& c, size_t row, const Tile& tile, size_t head,
                     size_t e) {
  size_t heads = c.view.heads;
  if (!c.key_side) return Floats{} + c.delta[row * heads + head];
  const NodeId* queries = c.view.pattern.neighbours + tile.first;
  Floats v;
  for (size_t l = 0; l < kLanes; ++l)
    v[l] = c.delta[queries[e + l < tile.count ? e + l : tile.count - 1] * heads + head];
  return v;
}

// s: dot products in, weights out; u: g . v in, ds out. Both are zero behind the last edge.
inline void weights_and_gradients(float* s, float* u, const AttentionBackward& c, size_t row,
                                  const Tile& tile, size_t head) {
  add_bias(s, c.view, tile, head);
  for (size_t e = 0; e < tile.count; e += kLanes) {
    Floats x = load<Floats>(s + e);
    Floats bounded = clamp(x, c.view.clamp);
    Ints here = present(tile, e);
    Floats w = here ? exponential(bounded) : Floats{};
    Floats ds = w * (load<Floats>(u + e) - deltas(c, row, tile, head, e));
    store(s + e, w);
    store(u + e, (bounded == x) & here ? ds : Floats{});
  }
}

inline void add_bias_gradients(const AttentionBackward& c, const float* ds, const Tile& tile,
                               size_t head) {
  if (tile.one_type())
    c.dbias[tile.type[0] * c.view.heads + head] += sum_of(ds, tile.count);
  else
    for (size_t e = 0; e < tile.count; ++e) c.dbias[tile.type[e] * c.view.heads + head] += ds[e];
  if (c.dweight)
    for (size_t e = 0; e < tile.count; ++e)
      c.dweight[head] += ds[e] * c.view.pattern.values[tile.first + e];
}

// Not initialised: what is behind the tile's last edge is masked.
struct TileGradients {
  alignas(64) float s[kTile];
  alignas(64) float u[kTile];
};

// A key is its own value and meets each type's vector of a query, so one sum takes all.
template <class V>
void backward_folded_key(const AttentionBackward& c, size_t row) {
  const AttentionView& v = c.view;
  TileGradients g;
  EdgeOffset bounds[kMaxEdgeTypes + 1];
  row_bounds(v.pattern, row, bounds);
  const float* own = c.row_x + row * c.x_stride;
  float* dx = c.dx + row * c.x_stride;
  ask_ahead(own, c.x_stride, v.width);
  ask_ahead(dx, c.x_stride, v.width);
  clear<V>(dx, v.width);
  Tile tile;
  for (EdgeOffset first = bounds[0]; first < bounds[v.pattern.types]; first += kTile) {
    fill_tile(tile, v, bounds, first);
    dots<V>(g.s, own, tile.x, 0, v.width, tile.count);
    dots<V>(g.u, own, tile.y, 0, v.width, tile.count);
    weights_and_gradients(g.s, g.u, c, row, tile, 0);
    weighted_sum<V>(dx, g.s, tile.y, 0, v.width, 0, tile.count);
    weighted_sum<V>(dx, g.u, tile.x, 0, v.width, 0, tile.count);
  }
}

// The row of a backward kernel, and where its gradients are summed up.
struct RowGradients {
  size_t row;
  const float* x;  // its own vector
  const float* a;  // times each type's modulation
  float* da;       // of each type: the sum of ds x over its edges
  float* dx;       // of keys: the sum of ds E_e * x over edges with features
  float* df;       // of queries: of each feature f the sum of ds x_ef x over these edges
  float* dy;       // or null
};

// Of the tile's edges with features.
template <class K>
inline void add_edge_gradients(const AttentionBackward& c, const RowGradients& r, const float* ds,
                               const EdgeTile& edges, const Tile& tile, size_t head) {
  using V = typename K::Vector;
  const AttentionView& v = c.view;
  size_t width = K::width(v), at = head * width;
  if (c.key_side) return add_row_gradient<V>(r.dx + at, ds, edges, tile, at, width);
  add_feature_sums<V>(r.df + at, ds, edges, tile, at, width, K::heads(v) * width,
                      v.pattern.feature_count);
  add_edge_bias_gradients(c.dedge_bias + head * v.feature_floats(), ds, edges, v.feature_floats());
}

// One head of one tile: dy += sum w y, da of each type += sum ds x.
template <class K>
inline void backward_head(const AttentionBackward& c, const RowGradients& r, const Tile& tile,
                          EdgeTile& edges, size_t head) {
  using V = typename K::Vector;
  const AttentionView& v = c.view;
  size_t head_width = K::width(v), width = K::heads(v) * head_width, at = head * head_width;
  TileGradients g;
  if (c.key_side)
    products<K, true>(g.s, r.x, r.a, tile, edges, v, head);
  else
    products<K, false>(g.s, r.x, r.a, tile, edges, v, head);
  dots<V>(g.u, c.row_y + r.row * c.y_stride + at, tile.y, at, head_width, tile.count);
  weights_and_gradients(g.s, g.u, c, r.row, tile, head);
  if (r.dy) weighted_sum<V>(r.dy + at, g.s, tile.y, at, head_width, 0, tile.count);
  if (K::features && edges.count > 0) add_edge_gradients<K>(c, r, g.u, edges, tile, head);
  // Of edges with features, the constant in their modulation is left to queries, and nothing to keys.
  size_t first = K::features && c.key_side ? edges.count : 0;
  for (size_t begin = first, end; begin < tile.count; begin = end) {  // runs of one type
    for (end = begin + 1; end < tile.count && tile.type[end] == tile.type[begin];) ++end;
    weighted_sum<V>(r.da + tile.type[begin] * width + at, g.u, tile.x, at, head_width, begin, end);
  }
  if (!c.key_side) add_bias_gradients(c, g.u, tile, head);
}

template <class K>
void backward_row(const AttentionBackward& c, size_t row) {
  using V = typename K::Vector;
  const AttentionView& v = c.view;
  if (v.folded() && c.key_side) return backward_folded_key<V>(c, row);
  size_t width = K::heads(v) * K::width(v), types = v.pattern.types;
  alignas(64) float room[kMaxEdgeTypes * kMaxAttentionWidth];
  alignas(64) float da_room[kMaxEdgeTypes * kMaxAttentionWidth];
  alignas(64) float df_room[K::features ? kMaxEdgeFeatures * kMaxAttentionWidth : 1];
  const float* row_x = c.row_x + row * c.x_stride;
  float* dx = c.dx + row * c.x_stride;
  float* dy = c.key_side ? c.dy + row * c.y_stride : nullptr;
  float* da = v.folded() ? dx : da_room;
  EdgeOffset bounds[kMaxEdgeTypes + 1];
  row_bounds(v.pattern, row, bounds);
  ask_ahead(row_x, c.x_stride, v.query_floats());
  ask_ahead(dx, c.x_stride, v.query_floats());
  ask_ahead(c.row_y + row * c.y_stride, c.y_stride, width);
  if (dy) ask_ahead(dy, c.y_stride, width);
  const float* a = modulate<V>(room, row_x, v);
  const float* features = K::features ? row_features(v.pattern, row, bounds[0]) : nullptr;
  if (!v.folded()) clear<V>(dx, width);
  clear<V>(da, types * width);
  size_t features_summed = c.key_side || bounds[0] == bounds[1] ? 0 : v.pattern.feature_count;
  if (K::features) clear<V>(df_room, features_summed * width);
  if (dy) clear<V>(dy, width);
  Tile tile;
  EdgeTile edges;
  RowGradients r{row, row_x, a, da, dx, df_room, dy};
  for (EdgeOffset first = bounds[0]; first < bounds[types]; first += kTile) {
    fill_tile(tile, v, bounds, first);
    if (K::features) fill_edges(edges, tile, v, bounds, features);
    for (size_t h = 0; h < K::heads(v); ++h) backward_head<K>(c, r, tile, edges, h);
  }
  if (v.folded()) return;
  for (size_t f = 0; K::features && f < features_summed; ++f) {
    multiply_add<V>(dx, df_room + f * width, v.edge_mod + f * width, width);
    multiply_add<V>(c.dedge_mod + f * width, df_room + f * width, row_x, width);
  }
  for (size_t t = 0; t < types; ++t) {
    if (bounds[t] == bounds[t + 1]) continue;
    if (!K::features || !c.key_side || t > 0)
      multiply_add<V>(dx, da + t * width, v.mod + t * width, width);
    if (!c.key_side) multiply_add<V>(c.dmod + t * width, da + t * width, row_x, width);
  }
}

template <class K>
void forward_rows(const AttentionForward& c, size_t begin, size_t end) {
  for (size_t row = begin; row < end; ++row) forward_row<K>(c, row);
}
template <class K>
void scores_rows(const AttentionScores& c, size_t begin, size_t end) {
  for (size_t row = begin; row < end; ++row) scores_row<K>(c, row);
}
template <class K>
void backward_rows(const AttentionBackward& c, size_t begin, size_t end) {
  for (size_t row = begin; row < end; ++row) backward_row<K>(c, row);
}

}  // namespace

// Calls rows for the widest native vector that divides the head's width.
#if defined(__AVX512F__)
#define SPEX_WIDTHS(rows, features)                                   \
  (c.view.width % 16 == 0  ? rows<Kind<F16, features>>(c, begin, end) \
   : c.view.width % 8 == 0 ? rows<Kind<F8, features>>(c, begin, end)  \
                           : rows<Kind<F4, features>>(c, begin, end))
#elif defined(__AVX2__)
#define SPEX_WIDTHS(rows, features)                                \
  (c.view.width % 8 == 0 ? rows<Kind<F8, features>>(c, begin, end) \
                         : rows<Kind<F4, features>>(c, begin, end))
#else
#define SPEX_WIDTHS(rows, features) rows<Kind<F4, features>>(c, begin, end)
#endif
#define SPEX_WIDE(rows)                                                                     \
  (!c.view.pattern.features                 ? SPEX_WIDTHS(rows, false)                      \
   : c.view.width == 8 && c.view.heads == 1 ? rows<Kind<RowFloats, true, 8>>(c, begin, end) \
                                            : SPEX_WIDTHS(rows, true))

void attention_forward(const AttentionForward& c, size_t begin, size_t end) {
  takes_eights(c.view) ? eights_forward(c, begin, end) : SPEX_WIDE(forward_rows);
}

void attention_scores(const AttentionScores& c, size_t begin, size_t end) {
  takes_eights(c.view) ? eights_scores(c, begin, end) : SPEX_WIDE(scores_rows);
}

void attention_backward(const AttentionBackward& c, size_t begin, size_t end) {
  takes_eights(c.view) ? eights_backward(c, begin, end) : SPEX_WIDE(backward_rows);
}

#undef SPEX_WIDE
#undef SPEX_WIDTHS

}  // namespace spex::SPEX_ISA
