// Graph edges with features, in the tiles of the wide attention kernels: every such edge has a
// modulation of its own, E_e = mod_graph + sum_f x_ef E_f, which is made here, used, and forgotten.
// The groups of a tile that have a graph edge are worked on together: where another type begins in
// one, its edges have their type's modulation. Included by attention_wide.simd.cpp only.
#pragma once

#include <spex/ops/attention.h>

#include "ops/attention_tile.h"

namespace spex::SPEX_ISA {

template <size_t N>
struct Count {
  static constexpr size_t value = N;
};

struct EdgeTile {
  size_t count = 0;    // graph edges: the tile's first
  size_t grouped = 0;  // edges of the groups that have one
  // Features of the grouped edges, zeros behind the last and for other types; always this far
  // apart, which makes them cheap to address.
  static constexpr size_t kStep = kMaxEdgeFeatures;
  alignas(64) float x[kTile * kStep];
  alignas(64) float e[kTile * kMaxAttentionWidth];  // modulations, one head's, `width` apart

  const float* features(size_t edge) const { return x + edge * kStep; }
};

// Where the features of a row's first graph edge stand.
inline const float* row_features(const PatternView& p, size_t row, EdgeOffset begin) {
  size_t node = p.chosen ? p.chosen[row] : row;
  return p.features + (p.feature_rows ? p.feature_rows[node] : begin) * p.feature_count;
}

inline void copy_features(float* to, const float* from, size_t count, size_t padded) {
  size_t f = 0;
  for (; f + lanes<RowFloats> <= count; f += lanes<RowFloats>)
    store(to + f, load<RowFloats>(from + f));
  for (; f < count; ++f) to[f] = from[f];
  for (; f < padded; ++f) to[f] = 0.0F;
}

inline void fill_edges(EdgeTile& edges, const Tile& tile, const AttentionView& v,
                       const EdgeOffset* bounds, const float* features) {
  edges.count = edges.grouped = 0;
  if (tile.first >= bounds[1]) return;
  EdgeOffset left = bounds[1] - tile.first;
  size_t width = v.pattern.feature_count, padded = v.feature_floats();
  edges.count = left < tile.count ? left : tile.count;
  edges.grouped = (edges.count + kGroup - 1) / kGroup * kGroup;
  const float* from = features + (tile.first - bounds[0]) * width;
  for (size_t e = 0; e < edges.grouped; ++e)
    copy_features(edges.x + e * EdgeTile::kStep, from + e * width, e < edges.count ? width : 0,
                  padded);
}

// The modulations of P edges, over N vectors of columns. E_f are `step` floats apart.
template <class V, size_t P, size_t N>
inline void modulation_strip(float* to, size_t width, const float* x, const float* mod,
                             const float* edge_mod, size_t step, size_t features) {
  V sum[P][N];
  for (size_t p = 0; p < P; ++p)
    for (size_t n = 0; n < N; ++n) sum[p][n] = load<V>(mod + n * lanes<V>);
  for (size_t f = 0; f < features; ++f, edge_mod += step)
    for (size_t n = 0; n < N; ++n) {
      V part = load<V>(edge_mod + n * lanes<V>);
      for (size_t p = 0; p < P; ++p) sum[p][n] += x[p * EdgeTile::kStep + f] * part;
    }
  for (size_t p = 0; p < P; ++p)
    for (size_t n = 0; n < N; ++n) store(to + p * width + n * lanes<V>, sum[p][n]);
}

// Those of all grouped edges, over the head that begins at column `at`.
template <class V>
inline void modulate_edges(EdgeTile& edges, const Tile& tile, const AttentionView& v, size_t at,
                           size_t width) {
  constexpr size_t kStep = lanes<V>, kTwo = 2 * kStep;
  size_t row = v.heads * width;
  const float *mod = v.mod + at, *edge_mod = v.edge_mod + at;
  for (size_t e = 0; e < edges.grouped; e += kGroup) {
    size_t c = 0;
    for (; c + kTwo <= width; c += kTwo)
      for (size_t half = e; half < e + kGroup; half += kGroup / 2)
        modulation_strip<V, kGroup / 2, 2>(edges.e + half * width + c, width, edges.features(half),
                                           mod + c, edge_mod + c, row, v.pattern.feature_count);
    for (; c < width; c += kStep)
      modulation_strip<V, kGroup, 1>(edges.e + e * width + c, width, edges.features(e), mod + c,
                                     edge_mod + c, row, v.pattern.feature_count);
  }
  for (size_t e = edges.count; e < edges.grouped; ++e)
    for (size_t c = 0; c < width; c += kStep)
      store(edges.e + e * width + c, load<V>(mod + tile.type[e] * row + c));
}

// to[e] = (own * E_e) . row_e of the grouped edges.
template <class V>
inline void edge_dots(float* to, const float* own, const EdgeTile& edges, const Tile& tile,
                      size_t at, size_t width) {
  for (size_t first = 0; first < edges.grouped; first += kGroup) {
    const float* e = edges.e + first * width;
    dot_group<V>(
        to + first,
        [=](size_t i, size_t c) { return load<V>(own + c) * load<V>(e + i * width + c); },
        tile.x + first, at, width);
  }
}

// s[e] += sum_f x_ef B_f
inline void add_edge_bias(float* s, const AttentionView& v, const EdgeTile& edges, size_t head) {
  size_t floats = v.feature_floats();
  const float* bias = v.edge_bias + head * floats;
  for (size_t first = 0; first < edges.grouped; first += kGroup) {
    const float* rows[kGroup];
    float sums[kGroup];
    for (size_t e = 0; e < kGroup; ++e) rows[e] = edges.features(first + e);
    dot_group<RowFloats>(
        sums, [bias](size_t, size_t f) { return load<RowFloats>(bias + f); }, rows, 0, floats);
    for (size_t e = 0; e < kGroup; e += lanes<RowFloats>)
      store(s + first + e, load<RowFloats>(s + first + e) + load<RowFloats>(sums + e));
  }
}

// dx += the sum of ds_e E_e * row_e.
template <class V>
inline void add_row_gradient(float* dx, const float* ds, const EdgeTile& edges, const Tile& tile,
                             size_t at, size_t width) {
  for (size_t c = 0; c < width; c += lanes<V>) {
    V even{}, odd{};
    size_t e = 0;
    for (; e + 2 <= edges.count; e += 2) {
      even += ds[e] * load<V>(edges.e + e * width + c) * load<V>(tile.x[e] + at + c);
      odd += ds[e + 1] * load<V>(edges.e + (e + 1) * width + c) * load<V>(tile.x[e + 1] + at + c);
    }
    if (e < edges.count)
      even += ds[e] * load<V>(edges.e + e * width + c) * load<V>(tile.x[e] + at + c);
    store(dx + c, load<V>(dx + c) + (even + odd));
  }
}

// dE_f += own * the sum of ds_e x_ef row_e, for N features; they are `step` floats apart.
template <class V, size_t N>
inline void feature_strip(float* to, size_t step, V own, const float* ds, const float* x,
                          const float* const* rows, size_t at, size_t count) {
  V sum[N] = {};
  for (size_t e = 0; e < count; ++e) {
    V row = ds[e] * load<V>(rows[e] + at);
    for (size_t f = 0; f < N; ++f) sum[f] += x[e * EdgeTile::kStep + f] * row;
  }
  for (size_t f = 0; f < N; ++f) store(to + f * step, load<V>(to + f * step) + own * sum[f]);
}

template <class V>
inline void add_feature_gradients(float* to, const float* own, const float* ds,
                                  const EdgeTile& edges, const Tile& tile, size_t at, size_t width,
                                  size_t step, size_t features) {
  for (size_t c = 0; c < width; c += lanes<V>) {
    V own_part = load<V>(own + c);
    auto strip = [&](auto count, size_t f) {
      feature_strip<V, count.value>(to + f * step + c, step, own_part, ds, edges.x + f, tile.x,
                                    at + c, edges.count);
    };
    size_t f = 0;
    for (; f + 8 <= features; f += 8) strip(Count<8>{}, f);
    for (; f + 4 <= features; f += 4) strip(Count<4>{}, f);
    for (; f < features; ++f) strip(Count<1>{}, f);
  }
}

// dB_f += the sum of ds_e x_ef.
inline void add_edge_bias_gradients(float* to, const float* ds, const EdgeTile& edges,
                                    size_t floats) {
  for (size_t f = 0; f < floats; f += lanes<RowFloats>) {
    RowFloats sum = load<RowFloats>(to + f);
    for (size_t e = 0; e < edges.count; ++e) sum += ds[e] * load<RowFloats>(edges.features(e) + f);
    store(to + f, sum);
  }
}

}  // namespace spex::SPEX_ISA
