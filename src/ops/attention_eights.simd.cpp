// Attention over heads of eight features. A tile holds as many scores as a vector has lanes: a few
// edges of a row, all heads of each. Its rows times the row's own vector are reduced to one vector
// of scores, one exponential makes the weights, and the weighted sums stay in registers. How rows
// and scores lie in registers is what eights_narrow.h and eights_avx512.h say; the rest is here.
//
// A tile takes the next edges of a row whatever their types: where a new type begins, the scores
// behind are computed again with its modulation, which costs less than a tile of its own.
#include "ops/attention_eights.h"

#ifdef __AVX512F__
#include "ops/eights_avx512.h"
#else
#include "ops/eights_narrow.h"
#endif

namespace spex::SPEX_ISA {
namespace {

template <size_t H>
inline void ask_for(const AttentionView& v, NodeId id) {
  const float* x = v.table.x + size_t{id} * v.table.stride;
  __builtin_prefetch(x);
  if constexpr (H == 1) return;  // y is in the same cache line
  const float* y = v.table.y + size_t{id} * v.table.stride;
  for (size_t c = 16; c < 8 * H; c += 16) __builtin_prefetch(x + c);
  for (size_t c = 0; c < 8 * H; c += 16) __builtin_prefetch(y + c);
}

// What rows share: the coefficients of every type.
template <size_t H>
struct Coefficients {
  Row<H> mod[kMaxEdgeTypes];
  Floats bias[kMaxEdgeTypes];  // by lane

  explicit Coefficients(const AttentionView& v) {
    for (size_t t = 0; t < v.pattern.types; ++t) {
      mod[t] = Row<H>::load(v.mod + t * 8 * H);
      bias[t] = load_heads<H>(v.bias + t * H);
    }
  }
};

// Calls body(tile, type of its first edge) for every tile of a row. `per_node`, if not null, has H
// numbers of each neighbour that are needed as well.
template <size_t H, class Body>
inline void for_tiles(const AttentionView& v, const EdgeOffset* bounds, const float* per_node,
                      Body&& body) {
  using E = Eights<H>;
  size_t type = 0;
  EdgeOffset end = bounds[v.pattern.types];
  for (EdgeOffset e = bounds[0]; e < end; e += E::edges) {
    while (bounds[type + 1] <= e) ++type;
    size_t count = end - e < E::edges ? end - e : E::edges;
    if (v.prefetch && e + E::ahead + E::edges <= v.pattern.edges)
      for (size_t i = 0; i < count; ++i) {
        NodeId id = v.pattern.neighbours[e + E::ahead + i];
        ask_for<H>(v, id);
        if (per_node) __builtin_prefetch(per_node + size_t{id} * H);
      }
    body(Tile<H>(v, e, count), type);
  }
}

// Whether a type behind the tile's first one begins within the tile.
template <size_t H>
inline bool begins_in(const Tile<H>& tile, const EdgeOffset* bounds, size_t type, size_t types) {
  return type < types && bounds[type] < tile.first + tile.count;
}

// exp(clamp(score)) of the tile's edges; `uncut`: lanes where the clamp did nothing.
template <size_t H>
inline Floats weights(const Tile<H>& tile, size_t type, const EdgeOffset* bounds,
                      const AttentionView& v, const Row<H>* a, const Coefficients<H>& c,
                      Mask* uncut) {
  Floats s = tile.dots_x(a[type]) + c.bias[type];
  for (size_t t = type + 1; begins_in(tile, bounds, t, v.pattern.types); ++t)
    s = choose(Tile<H>::from(bounds[t] - tile.first), tile.dots_x(a[t]) + c.bias[t], s);
  Floats bounded = clamp(s, v.clamp);
  Mask present = tile.present();
  *uncut = equal(s, bounded) & present;
  return where(present, exponential(bounded));
}

// The row's own vector times the modulation of every type.
template <size_t H>
inline void modulate(Row<H>* a, const Row<H>& own, const Coefficients<H>& c, size_t types) {
  for (size_t t = 0; t < types; ++t) a[t] = own.times(c.mod[t]);
}

template <size_t H>
void forward_rows(const AttentionForward& c, size_t begin, size_t end) {
  constexpr size_t kFloats = 8 * H;
  const AttentionView& v = c.view;
  Coefficients<H> types(v);
  for (size_t row = begin; row < end; ++row) {
    EdgeOffset bounds[kMaxEdgeTypes + 1];
    row_bounds(v.pattern, row, bounds);
    ask_ahead(c.q + row * kFloats, kFloats, kFloats);
    ask_ahead(c.out + row * kFloats, kFloats, kFloats);
    Row<H> a[kMaxEdgeTypes];
    modulate(a, Row<H>::load(c.q + row * kFloats), types, v.pattern.types);
    auto sum = WeightedSum<H>::zero();
    Floats totals{};
    for_tiles<H>(v, bounds, nullptr, [&](const Tile<H>& tile, size_t type) {
      Mask uncut;
      Floats w = weights(tile, type, bounds, v, a, types, &uncut);
      totals += w;
      tile.add_y(sum, w);
    });
    Floats inverse = 1.0F / (head_sums<H>(totals) + kSoftmaxEpsilon);
    store_heads<H>(c.inverse_sum + row * H, inverse);
    Row<H> out = sum.total();
    out.scale(inverse);
    out.store(c.out + row * kFloats);
  }
}

template <size_t H>
void scores_rows(const AttentionScores& c, size_t begin, size_t end) {
  const AttentionView& v = c.view;
  Coefficients<H> types(v);
  for (size_t row = begin; row < end; ++row) {
    EdgeOffset bounds[kMaxEdgeTypes + 1];
    row_bounds(v.pattern, row, bounds);
    Row<H> a[kMaxEdgeTypes];
    modulate(a, Row<H>::load(c.q + row * 8 * H), types, v.pattern.types);
    Floats totals{};
    for_tiles<H>(v, bounds, nullptr, [&](const Tile<H>& tile, size_t type) {
      Mask uncut;
      Floats w = weights(tile, type, bounds, v, a, types, &uncut);
      totals += w;
      tile.store_scores(c.scores + (tile.first - c.first_edge) * H, w);
    });
    float inverse[H];
    store_heads<H>(inverse, 1.0F / head_sums<H>(totals));
    float* scores = c.scores + (bounds[0] - c.first_edge) * H;
    for (size_t i = 0; i < (bounds[v.pattern.types] - bounds[0]) * H; ++i)
      scores[i] *= inverse[i % H];
  }
}

// The sums of ds over the edges of each type. Those of the type at hand stay in registers.
template <size_t H>
struct TypeSums {
  Row<H> da[kMaxEdgeTypes];    // ds x
  Floats bias[kMaxEdgeTypes];  // ds, by lane
  WeightedSum<H> da_now;
  Floats bias_now;
  size_t type;

  void start_row(size_t types) {
    for (size_t t = 0; t < types; ++t) da[t] = Row<H>::zero();
    da_now = WeightedSum<H>::zero();
    bias_now = Floats{};
    type = 0;
  }
  void go_on_to(size_t next) {
    da[type] = da_now.total();
    bias[type] += bias_now;
    da_now = WeightedSum<H>::zero();
    bias_now = Floats{};
    type = next;
  }
  void add(const Tile<H>& tile, Floats ds) {
    tile.add_x(da_now, ds);
    bias_now += ds;
  }
  void add(const Tile<H>& tile, Floats ds, size_t first, const EdgeOffset* bounds, size_t types) {
    if (first != type) go_on_to(first);
    for (size_t next = first + 1; begins_in(tile, bounds, next, types); ++next) {
      Mask behind = Tile<H>::from(bounds[next] - tile.first);
      add(tile, where(unless(behind), ds));
      ds = where(behind, ds);
      go_on_to(next);
    }
    add(tile, ds);
  }
};

template <size_t H>
void backward_rows(const AttentionBackward& c, size_t begin, size_t end) {
  constexpr size_t kFloats = 8 * H;
  const AttentionView& v = c.view;
  size_t count = v.pattern.types;
  Coefficients<H> types(v);
  TypeSums<H> sums;
  for (Floats& bias : sums.bias) bias = Floats{};
  for (size_t row = begin; row < end; ++row) {
    EdgeOffset bounds[kMaxEdgeTypes + 1];
    row_bounds(v.pattern, row, bounds);
    size_t x_at = row * c.x_stride, y_at = row * c.y_stride;
    ask_ahead(c.row_x + x_at, c.x_stride, kFloats);
    ask_ahead(c.row_y + y_at, c.y_stride, kFloats);
    ask_ahead(c.dx + x_at, c.x_stride, kFloats);
    if (c.key_side) ask_ahead(c.dy + y_at, c.y_stride, kFloats);
    Row<H> row_x = Row<H>::load(c.row_x + x_at);
    Row<H> row_y = Row<H>::load(c.row_y + y_at);
    Row<H> a[kMaxEdgeTypes];
    modulate(a, row_x, types, count);
    Floats delta{};
    if (!c.key_side) delta = load_heads<H>(c.delta + row * H);
    sums.start_row(count);
    auto dy = WeightedSum<H>::zero();
    for_tiles<H>(v, bounds, c.key_side ? c.delta : nullptr, [&](const Tile<H>& tile, size_t type) {
      Mask uncut;
      Floats w = weights(tile, type, bounds, v, a, types, &uncut);
      Floats u = tile.dots_y(row_y) - (c.key_side ? tile.gather(c.delta) : delta);
      if (c.key_side) tile.add_y(dy, w);
      sums.add(tile, where(uncut, w * u), type, bounds, count);
    });
    sums.go_on_to(0);
    Row<H> dx = Row<H>::zero();
    for (size_t t = 0; t < count; ++t) {
      if (bounds[t] == bounds[t + 1]) continue;
      dx.add_product(sums.da[t], types.mod[t]);
      if (!c.key_side) sums.da[t].times(row_x).add_to(c.dmod + t * kFloats);
    }
    dx.store(c.dx + x_at);
    if (c.key_side) dy.total().store(c.dy + y_at);
  }
  if (c.key_side) return;
  for (size_t t = 0; t < count; ++t) {
    float total[H];
    store_heads<H>(total, head_sums<H>(sums.bias[t]));
    for (size_t h = 0; h < H; ++h) c.dbias[t * H + h] += total[h];
  }
}

}  // namespace

#define SPEX_EIGHTS(rows)                     \
  switch (c.view.heads) {                     \
    case 1:                                   \
      return rows<1>(c, begin, end);          \
    case 2:                                   \
      return rows<2>(c, begin, end);          \
    case 4:                                   \
      return rows<4>(c, begin, end);          \
    default:                                  \
      return rows<kMostHeads>(c, begin, end); \
  }

namespace {
constexpr size_t kMostHeads = kLanes < 8 ? kLanes : 8;
}

bool takes_eights(const AttentionView& v) {
  bool eights = v.layout == LayoutKind::packed || v.layout == LayoutKind::eights;
  return eights && v.heads <= kLanes && !v.pattern.features;
}

void eights_forward(const AttentionForward& c, size_t begin, size_t end) {
  SPEX_EIGHTS(forward_rows)
}

void eights_scores(const AttentionScores& c, size_t begin, size_t end) {
  SPEX_EIGHTS(scores_rows)
}

void eights_backward(const AttentionBackward& c, size_t begin, size_t end) {
  SPEX_EIGHTS(backward_rows)
}

#undef SPEX_EIGHTS

}  // namespace spex::SPEX_ISA
