// Graph edges with features, in the tiles of the wide attention kernels: every such edge has a
// modulation of its own, E_e = mod_graph + sum_f x_ef E_f, which is made here, used, and forgotten.
// The groups of a tile that have a graph edge are worked on together: where another type begins in
// one, its edges have their type's modulation. Included by attention_wide.simd.cpp only.
#pragma once

#include <spex/ops/attention.h>

#include "ops/attention_tile.h"

namespace spex::SPEX_ISA {

template <size_t N>
struct Count {};
template <bool kValue>
struct Flag {};

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

// Rows of eight features, which are most, go as they are.
inline void copy_features(float* to, const float* from, size_t rows, size_t count, size_t padded) {
  constexpr size_t kLanesHere = lanes<RowFloats>;
  if (count == 8) {
    for (size_t e = 0; e < rows; ++e, to += EdgeTile::kStep, from += 8)
      for (size_t f = 0; f < 8; f += kLanesHere) store(to + f, load<RowFloats>(from + f));
    return;
  }
  for (size_t e = 0; e < rows; ++e, to += EdgeTile::kStep, from += count) {
    size_t f = 0;
    for (; f < count; ++f) to[f] = from[f];
    for (; f < padded; ++f) to[f] = 0.0F;
  }
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
  copy_features(edges.x, from, edges.count, width, padded);
  const float* later = from + 2 * kTile * width;  // as in ask_ahead
  for (size_t f = 0; f < edges.count * width; f += 16) __builtin_prefetch(later + f);
  for (size_t e = edges.count; e < edges.grouped; ++e)
    for (size_t f = 0; f < padded; f += lanes<RowFloats>)
      store(edges.x + e * EdgeTile::kStep + f, RowFloats{});
}

// What P edges of one head have in common while their modulations are made.
struct ModulationStrip {
  const float* x;           // features of the first
  const float* const* mod;  // of each edge: its type's
  const float* edge_mod;    // E_f, `step` floats apart
  size_t step, features;
};

// E_e of P edges over N vectors of columns from `c` on, added to their dot products with own * row.
// With `keep` they are kept there, `width` floats apart.
template <class V, size_t P, size_t N, bool kKeep, bool kFirst>
[[gnu::always_inline]] inline void modulation_strip(V* products, float* keep, size_t width,
                                                    const ModulationStrip& s, const float* own,
                                                    const float* const* rows, size_t at, size_t c) {
  V sum[P][N];
  for (size_t p = 0; p < P; ++p)
    for (size_t n = 0; n < N; ++n) sum[p][n] = load<V>(s.mod[p] + c + n * lanes<V>);
  const float* edge_mod = s.edge_mod + c;
  for (size_t f = 0; f < s.features; ++f, edge_mod += s.step) {
    V part[N];
    for (size_t n = 0; n < N; ++n) part[n] = load<V>(edge_mod + n * lanes<V>);
    for (size_t p = 0; p < P; ++p) {
      V x = s.x[p * EdgeTile::kStep + f] - V{};
      for (size_t n = 0; n < N; ++n) sum[p][n] += x * part[n];
    }
  }
  for (size_t n = 0; n < N; ++n) {
    V own_part = load<V>(own + c + n * lanes<V>);
    for (size_t p = 0; p < P; ++p) {
      if (kKeep) store(keep + p * width + c + n * lanes<V>, sum[p][n]);
      V product = own_part * sum[p][n] * load<V>(rows[p] + at + c + n * lanes<V>);
      products[p] = kFirst && n == 0 ? product : products[p] + product;
    }
  }
}

// to[e] = (own * E_e) . row_e of the grouped edges, over the head that begins at column `at`. The
// modulations stay in edges.e if they are to be kept.
template <class V, bool kKeep>
inline void edge_dots(float* to, const float* own, EdgeTile& edges, const Tile& tile,
                      const AttentionView& v, size_t at, size_t width, size_t row) {
  constexpr size_t kStep = lanes<V>, kTwo = 2 * kStep;
  constexpr size_t kHalf = kStep == 16 ? kGroup : kGroup / 2;  // AVX-512 has twice the registers
  for (size_t e = 0; e < edges.grouped; e += kGroup) {
    V products[kGroup];
    const float* mod[kGroup];
    for (size_t i = 0; i < kGroup; ++i) mod[i] = v.mod + at + tile.type[e + i] * row;
    auto strip = [&](size_t first) {
      return ModulationStrip{edges.features(e + first), mod + first, v.edge_mod + at, row,
                             v.pattern.feature_count};
    };
    float* keep = edges.e + e * width;
    const float* const* rows = tile.x + e;
    auto two = [&]<bool kFirst>(Flag<kFirst>, size_t c) {
      for (size_t half = 0; half < kGroup; half += kHalf)
        modulation_strip<V, kHalf, 2, kKeep, kFirst>(products + half, keep + half * width, width,
                                                     strip(half), own, rows + half, at, c);
    };
    if (width < kTwo) {
      modulation_strip<V, kGroup, 1, kKeep, true>(products, keep, width, strip(0), own, rows, at,
                                                  0);
    } else {
      two(Flag<true>{}, 0);
      size_t c = kTwo;
      for (; c + kTwo <= width; c += kTwo) two(Flag<false>{}, c);
      if (c < width)
        modulation_strip<V, kGroup, 1, kKeep, false>(products, keep, width, strip(0), own, rows, at,
                                                     c);
    }
    store_sums(to + e, products);
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

// to_f += the sum of ds_e x_ef row_e, for N features and M vectors of columns; features are `step`
// floats apart.
template <class V, size_t N, size_t M>
[[gnu::always_inline]] inline void feature_strip(float* to, size_t step, const float* ds,
                                                 const float* x, const float* const* rows,
                                                 size_t at, size_t count) {
  V sum[N][M] = {};
  for (size_t e = 0; e < count; ++e) {
    V row[M];
    for (size_t m = 0; m < M; ++m) row[m] = ds[e] * load<V>(rows[e] + at + m * lanes<V>);
    for (size_t f = 0; f < N; ++f) {
      V feature = x[e * EdgeTile::kStep + f] - V{};
      for (size_t m = 0; m < M; ++m) sum[f][m] += feature * row[m];
    }
  }
  for (size_t f = 0; f < N; ++f)
    for (size_t m = 0; m < M; ++m) {
      float* place = to + f * step + m * lanes<V>;
      store(place, load<V>(place) + sum[f][m]);
    }
}

// What a row's gradients are made of, once for all of its edges: with these sums D_f, that of the row
// is mod * D + sum_f E_f * D_f, where D has 1 for x_ef, and that of E_f is own * D_f.
template <class V>
inline void add_feature_sums(float* to, const float* ds, const EdgeTile& edges, const Tile& tile,
                             size_t at, size_t width, size_t step, size_t features) {
  constexpr size_t kTwo = 2 * lanes<V>;
  size_t c = 0;
  auto strip = [&]<size_t N, size_t M>(Count<N>, Count<M>, size_t f) {
    feature_strip<V, N, M>(to + f * step + c, step, ds, edges.x + f, tile.x, at + c, edges.count);
  };
  for (; c + kTwo <= width; c += kTwo) {
    size_t f = 0;
    for (; f + 4 <= features; f += 4) strip(Count<4>{}, Count<2>{}, f);
    for (; f < features; ++f) strip(Count<1>{}, Count<2>{}, f);
  }
  for (; c < width; c += lanes<V>) {
    size_t f = 0;
    for (; f + 8 <= features; f += 8) strip(Count<8>{}, Count<1>{}, f);
    for (; f < features; ++f) strip(Count<1>{}, Count<1>{}, f);
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
