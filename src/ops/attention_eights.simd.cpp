// Sixteen scores at a time, AVX-512. A tile holds eight registers of the neighbours' first vectors
// and eight of their second ones; a register holds two heads of one edge or, with a single head,
// two edges. Three levels of shuffled additions turn eight registers of products into the sixteen
// dot products of their halves, in this order:
//
//   lane         0 .. 3   4 .. 7   8 .. 11   12 .. 15
//   register     0 .. 3   0 .. 3   4 .. 7    4 .. 7
//   half of it   lower    upper    lower     upper
//
// A tile takes the next edges of a row whatever their types: where a new type begins, the scores
// behind are computed again with its modulation, which costs less than a tile of its own.
#include "ops/attention_eights.h"

#include "ops/attention_lanes.h"

#ifdef __AVX512F__

#include <immintrin.h>

namespace spex::SPEX_ISA {
namespace {

struct LaneTable {
  alignas(64) int of[16];
  __m512i load() const { return _mm512_load_si512(of); }
};

// A row has R registers of two heads each; R = 0: one head, half a register.
template <size_t R>
struct Layout {
  static constexpr bool packed = R == 0;
  static constexpr size_t registers = packed ? 1 : R;
  static constexpr size_t heads = packed ? 1 : 2 * R;
  static constexpr size_t floats = 8 * heads;
  static constexpr size_t edges = 16 / heads;                // of a tile
  static constexpr EdgeOffset ahead = packed ? 32 : 24 / R;  // from asking for a row to using it

  // Register p of a tile belongs to this edge (packed: to this one and the one eight further)...
  static constexpr size_t edge(size_t p) { return packed ? p : p % edges; }
  // ... and meets this register of the row's own vector.
  static constexpr size_t own(size_t p) { return packed ? 0 : p / edges; }

  static constexpr LaneTable edge_of_lane() {
    LaneTable table{};
    for (size_t lane = 0; lane < 16; ++lane)
      table.of[lane] =
          static_cast<int>(edge(lane / 8 * 4 + lane % 4) + (packed && lane % 8 >= 4 ? 8 : 0));
    return table;
  }
  static constexpr LaneTable head_of_lane() {
    LaneTable table{};
    for (size_t lane = 0; lane < 16; ++lane)
      table.of[lane] =
          packed ? 0 : static_cast<int>(2 * own(lane / 8 * 4 + lane % 4) + lane % 8 / 4);
    return table;
  }
  // A lane of each head; those behind the last head are not used.
  static constexpr LaneTable lane_of_head() {
    LaneTable table{};
    for (int lane = 15; lane >= 0; --lane) table.of[head_of_lane().of[lane]] = lane;
    return table;
  }
  static constexpr LaneTable kEdge = edge_of_lane();
  static constexpr LaneTable kHead = head_of_lane();
  static constexpr LaneTable kLane = lane_of_head();
};

inline __m512 add_pairs(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
}

inline __m512 add_quads(__m512 a, __m512 b) {
  __m512d x = _mm512_castps_pd(a), y = _mm512_castps_pd(b);
  return _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)),
                       _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
}

inline __m512 half_sums(const __m512* m) {
  __m512 low = add_quads(add_pairs(m[0], m[1]), add_pairs(m[2], m[3]));
  __m512 high = add_quads(add_pairs(m[4], m[5]), add_pairs(m[6], m[7]));
  return _mm512_add_ps(_mm512_shuffle_f32x4(low, high, 0x88),
                       _mm512_shuffle_f32x4(low, high, 0xDD));
}

// The lanes of register p's two halves, each spread over its half.
inline __m512i spread(int p) {
  int low = p < 4 ? p : p + 4;
  int high = low + 4;
  return _mm512_setr_epi32(low, low, low, low, low, low, low, low, high, high, high, high, high,
                           high, high, high);
}

inline __m512 join(const float* low, const float* high) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(low)), _mm256_loadu_ps(high), 1);
}

inline __m256 halves(__m512 v) {
  return _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
}

// A row of a node's own, or of a type's coefficients.
template <size_t R>
struct Row {
  __m512 part[Layout<R>::registers];

  static Row load(const float* from) {
    Row row;
    if constexpr (R == 0)
      row.part[0] = join(from, from);
    else
      for (size_t r = 0; r < R; ++r) row.part[r] = _mm512_loadu_ps(from + 16 * r);
    return row;
  }
  static Row zero() {
    Row row;
    for (__m512& part : row.part) part = _mm512_setzero_ps();
    return row;
  }
  Row times(const Row& other) const {
    Row row;
    for (size_t r = 0; r < Layout<R>::registers; ++r)
      row.part[r] = _mm512_mul_ps(part[r], other.part[r]);
    return row;
  }
  void add_product(const Row& a, const Row& b) {
    for (size_t r = 0; r < Layout<R>::registers; ++r)
      part[r] = _mm512_fmadd_ps(a.part[r], b.part[r], part[r]);
  }
  void store(float* to) const {
    if constexpr (R == 0)
      _mm256_storeu_ps(to, halves(part[0]));
    else
      for (size_t r = 0; r < R; ++r) _mm512_storeu_ps(to + 16 * r, part[r]);
  }
  void add_to(float* to) const {
    if constexpr (R == 0)
      _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), halves(part[0])));
    else
      for (size_t r = 0; r < R; ++r)
        _mm512_storeu_ps(to + 16 * r, _mm512_add_ps(_mm512_loadu_ps(to + 16 * r), part[r]));
  }
  // The sum over the halves of packed registers is taken when the row is stored.
  void add_weighted(const __m512* rows, __m512 weight) {
    for (size_t p = 0; p < 8; ++p) {
      __m512& total = part[Layout<R>::own(p)];
      total = _mm512_fmadd_ps(_mm512_permutexvar_ps(spread(static_cast<int>(p)), weight), rows[p],
                              total);
    }
  }
  void scale(__m512 by_lane) {
    for (size_t r = 0; r < Layout<R>::registers; ++r)
      part[r] = _mm512_mul_ps(
          part[r],
          _mm512_permutexvar_ps(spread(static_cast<int>(r * Layout<R>::edges % 8)), by_lane));
  }
};

template <size_t R>
inline __m512 dot_products(const __m512* rows, const Row<R>& own) {
  __m512 m[8];
  for (size_t p = 0; p < 8; ++p) m[p] = _mm512_mul_ps(rows[p], own.part[Layout<R>::own(p)]);
  return half_sums(m);
}

// Every lane gets the sum over the lanes of its head.
template <size_t R>
inline __m512 head_sums(__m512 v) {
  v = _mm512_add_ps(v, _mm512_permute_ps(v, 0xB1));
  if constexpr (R <= 2) v = _mm512_add_ps(v, _mm512_permute_ps(v, 0x4E));
  if constexpr (R <= 1) v = _mm512_add_ps(v, _mm512_shuffle_f32x4(v, v, 0x4E));
  if constexpr (R == 0) v = _mm512_add_ps(v, _mm512_shuffle_f32x4(v, v, 0xB1));
  return v;
}

// One number per head out of lanes that hold their head's.
template <size_t R>
inline __m512 by_head(__m512 v) {
  return _mm512_permutexvar_ps(Layout<R>::kLane.load(), v);
}
template <size_t R>
inline constexpr __mmask16 kHeads = static_cast<__mmask16>((1U << Layout<R>::heads) - 1U);

template <size_t R>
inline void ask_for(const AttentionView& v, NodeId id) {
  const float* x = v.table.x + size_t{id} * v.table.stride;
  __builtin_prefetch(x);
  if constexpr (R == 0) return;
  const float* y = v.table.y + size_t{id} * v.table.stride;
  for (size_t r = 1; r < R; ++r) __builtin_prefetch(x + 16 * r);
  for (size_t r = 0; r < R; ++r) __builtin_prefetch(y + 16 * r);
}

template <size_t R>
struct Tile {
  __m512 x[8], y[8];
  __m512i ids;  // in order
  EdgeOffset first;
  size_t count;
  __mmask16 present;  // lanes that hold an edge

  Tile(const AttentionView& v, EdgeOffset first_edge, size_t edge_count)
      : first(first_edge), count(edge_count) {
    using L = Layout<R>;
    const NodeId* at = v.pattern.neighbours + first;
    if (v.prefetch && first + L::ahead + L::edges <= v.pattern.edges)
      for (size_t e = 0; e < count; ++e) ask_for<R>(v, at[L::ahead + e]);
    // Past the end the last edge stands in; its weight is masked.
    auto in_order = static_cast<__mmask16>((1U << count) - 1U);
    ids = _mm512_mask_loadu_epi32(_mm512_set1_epi32(static_cast<int>(at[count - 1])), in_order, at);
    present = from(0) & ~from(count);
    alignas(64) uint32_t id[16];
    _mm512_store_si512(id, ids);
    for (size_t p = 0; p < 8; ++p) {
      size_t place = size_t{id[L::edge(p)]} * v.table.stride;
      if constexpr (R == 0) {
        size_t other = size_t{id[p + 8]} * v.table.stride;
        x[p] = join(v.table.x + place, v.table.x + other);
        y[p] = join(v.table.y + place, v.table.y + other);
      } else {
        x[p] = _mm512_loadu_ps(v.table.x + place + 16 * L::own(p));
        y[p] = _mm512_loadu_ps(v.table.y + place + 16 * L::own(p));
      }
    }
  }

  // Lanes of this edge of the tile and of those behind.
  static __mmask16 from(size_t edge) {
    return _mm512_cmpge_epi32_mask(Layout<R>::kEdge.load(),
                                   _mm512_set1_epi32(static_cast<int>(edge)));
  }
};

// What rows share: the coefficients of every type.
template <size_t R>
struct Coefficients {
  Row<R> mod[kMaxEdgeTypes];
  __m512 bias[kMaxEdgeTypes];  // by lane

  explicit Coefficients(const AttentionView& v) {
    for (size_t t = 0; t < v.pattern.types; ++t) {
      mod[t] = Row<R>::load(v.mod + t * Layout<R>::floats);
      bias[t] = _mm512_permutexvar_ps(
          Layout<R>::kHead.load(), _mm512_maskz_loadu_ps(kHeads<R>, v.bias + t * Layout<R>::heads));
    }
  }
};

// Calls body(tile, type of its first edge) for every tile of a row.
template <size_t R, class Body>
inline void for_tiles(const AttentionView& v, const EdgeOffset* bounds, Body&& body) {
  size_t type = 0;
  EdgeOffset end = bounds[v.pattern.types];
  for (EdgeOffset e = bounds[0]; e < end; e += Layout<R>::edges) {
    while (bounds[type + 1] <= e) ++type;
    size_t left = end - e;
    body(Tile<R>(v, e, left < Layout<R>::edges ? left : Layout<R>::edges), type);
  }
}

// Whether a type behind the tile's first one begins within the tile.
template <size_t R>
inline bool begins_in(const Tile<R>& tile, const EdgeOffset* bounds, size_t type, size_t types) {
  return type < types && bounds[type] < tile.first + tile.count;
}

// exp(clamp(score)) of the tile's edges; `uncut`: lanes where the clamp did nothing.
template <size_t R>
inline __m512 weights(const Tile<R>& tile, size_t type, const EdgeOffset* bounds,
                      const AttentionView& v, const Row<R>* a, const Coefficients<R>& c,
                      __mmask16* uncut) {
  __m512 s = _mm512_add_ps(dot_products<R>(tile.x, a[type]), c.bias[type]);
  for (size_t t = type + 1; begins_in(tile, bounds, t, v.pattern.types); ++t)
    s = _mm512_mask_add_ps(s, Tile<R>::from(bounds[t] - tile.first), dot_products<R>(tile.x, a[t]),
                           c.bias[t]);
  F16 bounded = clamp((F16)s, v.clamp);
  *uncut = _mm512_mask_cmp_ps_mask(tile.present, s, (__m512)bounded, _CMP_EQ_OQ);
  return _mm512_maskz_mov_ps(tile.present, (__m512)exponential(bounded));
}

template <size_t R>
void forward_rows(const AttentionForward& c, size_t begin, size_t end) {
  using L = Layout<R>;
  const AttentionView& v = c.view;
  Coefficients<R> types(v);
  for (size_t row = begin; row < end; ++row) {
    EdgeOffset bounds[kMaxEdgeTypes + 1];
    row_bounds(v.pattern, row, bounds);
    ask_ahead(c.q + row * L::floats, L::floats, L::floats);
    ask_ahead(c.out + row * L::floats, L::floats, L::floats);
    Row<R> q = Row<R>::load(c.q + row * L::floats);
    Row<R> a[kMaxEdgeTypes];
    for (size_t t = 0; t < v.pattern.types; ++t) a[t] = q.times(types.mod[t]);
    Row<R> out = Row<R>::zero();
    __m512 sums = _mm512_setzero_ps();
    for_tiles<R>(v, bounds, [&](const Tile<R>& tile, size_t type) {
      __mmask16 uncut;
      __m512 w = weights(tile, type, bounds, v, a, types, &uncut);
      sums = _mm512_add_ps(sums, w);
      out.add_weighted(tile.y, w);
    });
    __m512 inverse = _mm512_div_ps(
        _mm512_set1_ps(1.0F), _mm512_add_ps(head_sums<R>(sums), _mm512_set1_ps(kSoftmaxEpsilon)));
    _mm512_mask_storeu_ps(c.inverse_sum + row * L::heads, kHeads<R>, by_head<R>(inverse));
    out.scale(inverse);
    out.store(c.out + row * L::floats);
  }
}

// delta of the tile's queries, by lane.
template <size_t R>
inline __m512 deltas(const AttentionBackward& c, size_t row, const Tile<R>& tile) {
  using L = Layout<R>;
  __m512i head = L::kHead.load();
  if (!c.key_side)
    return _mm512_permutexvar_ps(head, _mm512_maskz_loadu_ps(kHeads<R>, c.delta + row * L::heads));
  __m512i query = _mm512_permutexvar_epi32(L::kEdge.load(), tile.ids);
  __m512i at = _mm512_add_epi32(_mm512_mullo_epi32(query, _mm512_set1_epi32(L::heads)), head);
  return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), tile.present, at, c.delta, 4);
}

// The sums of ds over the edges of each type. Those of the type at hand stay in registers.
template <size_t R>
struct TypeSums {
  Row<R> da[kMaxEdgeTypes];    // ds x
  __m512 bias[kMaxEdgeTypes];  // ds, by lane
  Row<R> da_now;
  __m512 bias_now;
  size_t type;

  void start_row(size_t types) {
    for (size_t t = 0; t < types; ++t) da[t] = Row<R>::zero();
    da_now = Row<R>::zero();
    bias_now = _mm512_setzero_ps();
    type = 0;
  }
  void go_on_to(size_t next) {
    da[type] = da_now;
    bias[type] = _mm512_add_ps(bias[type], bias_now);
    da_now = Row<R>::zero();
    bias_now = _mm512_setzero_ps();
    type = next;
  }
  void add(const Tile<R>& tile, __m512 ds) {
    da_now.add_weighted(tile.x, ds);
    bias_now = _mm512_add_ps(bias_now, ds);
  }
  void add(const Tile<R>& tile, __m512 ds, size_t first, const EdgeOffset* bounds, size_t types) {
    if (first != type) go_on_to(first);
    for (size_t next = first + 1; begins_in(tile, bounds, next, types); ++next) {
      __mmask16 behind = Tile<R>::from(bounds[next] - tile.first);
      add(tile, _mm512_maskz_mov_ps(static_cast<__mmask16>(~behind), ds));
      ds = _mm512_maskz_mov_ps(behind, ds);
      go_on_to(next);
    }
    add(tile, ds);
  }
};

template <size_t R>
void backward_rows(const AttentionBackward& c, size_t begin, size_t end) {
  using L = Layout<R>;
  const AttentionView& v = c.view;
  size_t count = v.pattern.types;
  Coefficients<R> types(v);
  TypeSums<R> sums;
  for (__m512& bias : sums.bias) bias = _mm512_setzero_ps();
  for (size_t row = begin; row < end; ++row) {
    EdgeOffset bounds[kMaxEdgeTypes + 1];
    row_bounds(v.pattern, row, bounds);
    size_t x_at = row * c.x_stride, y_at = row * c.y_stride;
    ask_ahead(c.row_x + x_at, c.x_stride, L::floats);
    ask_ahead(c.row_y + y_at, c.y_stride, L::floats);
    ask_ahead(c.dx + x_at, c.x_stride, L::floats);
    if (c.key_side) ask_ahead(c.dy + y_at, c.y_stride, L::floats);
    Row<R> row_x = Row<R>::load(c.row_x + x_at);
    Row<R> row_y = Row<R>::load(c.row_y + y_at);
    Row<R> a[kMaxEdgeTypes];
    for (size_t t = 0; t < count; ++t) a[t] = row_x.times(types.mod[t]);
    sums.start_row(count);
    Row<R> dy = Row<R>::zero();
    for_tiles<R>(v, bounds, [&](const Tile<R>& tile, size_t type) {
      __mmask16 uncut;
      __m512 w = weights(tile, type, bounds, v, a, types, &uncut);
      __m512 u = _mm512_sub_ps(dot_products<R>(tile.y, row_y), deltas(c, row, tile));
      if (c.key_side) dy.add_weighted(tile.y, w);
      sums.add(tile, _mm512_maskz_mul_ps(uncut, w, u), type, bounds, count);
    });
    sums.go_on_to(0);
    Row<R> dx = Row<R>::zero();
    for (size_t t = 0; t < count; ++t) {
      if (bounds[t] == bounds[t + 1]) continue;
      dx.add_product(sums.da[t], types.mod[t]);
      if (!c.key_side) sums.da[t].times(row_x).add_to(c.dmod + t * L::floats);
    }
    dx.store(c.dx + x_at);
    if (c.key_side) dy.store(c.dy + y_at);
  }
  if (c.key_side) return;
  for (size_t t = 0; t < count; ++t) {
    float* dbias = c.dbias + t * L::heads;
    __m512 total = _mm512_add_ps(_mm512_maskz_loadu_ps(kHeads<R>, dbias),
                                 by_head<R>(head_sums<R>(sums.bias[t])));
    _mm512_mask_storeu_ps(dbias, kHeads<R>, total);
  }
}

}  // namespace

#define SPEX_EIGHTS(rows)            \
  switch (c.view.heads) {            \
    case 1:                          \
      return rows<0>(c, begin, end); \
    case 2:                          \
      return rows<1>(c, begin, end); \
    case 4:                          \
      return rows<2>(c, begin, end); \
    default:                         \
      return rows<4>(c, begin, end); \
  }

void eights_forward(const AttentionForward& c, size_t begin, size_t end) {
  SPEX_EIGHTS(forward_rows)
}

void eights_backward(const AttentionBackward& c, size_t begin, size_t end) {
  SPEX_EIGHTS(backward_rows)
}

#undef SPEX_EIGHTS

}  // namespace spex::SPEX_ISA

#endif
