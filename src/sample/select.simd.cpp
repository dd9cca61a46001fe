// Selection by bisection: how many keys are below a bound is one vectorised pass without branches,
// and some ten passes find the bound that k keys are below. A heap would guess wrong on every other
// comparison of random keys.
#include "sample/race_kernels.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace spex::SPEX_ISA {
namespace {

// The keys of a row, followed by copies of the first up to whole vectors: those change neither the
// smallest nor the largest key, and stand behind all that can be selected.
struct Row {
  int32_t* keys;
  size_t count, padded;
};

inline Row pad(int32_t* keys, size_t count) {
  size_t padded = (count + kRowPadding - 1) / kRowPadding * kRowPadding;
  for (size_t i = count; i < padded; ++i) keys[i] = keys[0];
  return {keys, count, padded};
}

inline size_t count_below(const Row& row, int32_t bound) {
  uint32_t below = 0;
#if defined(__AVX512F__)
  __m512i bounds = _mm512_set1_epi32(bound);
  for (size_t i = 0; i < row.padded; i += 16)
    below += __builtin_popcount(_mm512_cmplt_epi32_mask(_mm512_loadu_si512(row.keys + i), bounds));
#else
  for (size_t i = 0; i < row.padded; ++i) below += row.keys[i] < bound;
#endif
  return below - (row.keys[0] < bound ? row.padded - row.count : 0);
}

// The keys below `bound` make the sample, with the first `ties` of those equal to it.
struct Cut {
  int32_t bound;
  size_t ties;
};

// Invariant: fewer than k keys are below `low`, at least k are below `high`. Which half a step
// takes cannot be foreseen, so it is chosen without a branch.
inline Cut find_cut(const Row& row, size_t k) {
  int32_t low = row.keys[0], last = row.keys[0];
  for (size_t i = 0; i < row.padded; ++i) {
    low = row.keys[i] < low ? row.keys[i] : low;
    last = row.keys[i] > last ? row.keys[i] : last;
  }
  size_t below_low = 0;
  for (auto high = static_cast<uint32_t>(last) + 1; high - static_cast<uint32_t>(low) > 1;) {
    auto middle = static_cast<int32_t>((static_cast<uint32_t>(low) + high) / 2);
    size_t below = count_below(row, middle);
    if (below == k) return {middle, 0};
    bool upper = below < k;
    low = upper ? middle : low;
    below_low = upper ? below : below_low;
    high = upper ? high : static_cast<uint32_t>(middle);
  }
  return {low, k - below_low};
}

inline void gather(uint64_t* places, const Row& row, size_t k, uint64_t base, int32_t bound) {
  size_t found = 0;
#if defined(__AVX512F__)
  __m512i bounds = _mm512_set1_epi32(bound);
  __m512i place = _mm512_add_epi64(_mm512_set1_epi64(static_cast<int64_t>(base)),
                                   _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
  for (size_t i = 0; found < k; i += 8, place = _mm512_add_epi64(place, _mm512_set1_epi64(8))) {
    __m256i keys = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row.keys + i));
    __mmask8 mask = _mm256_cmplt_epi32_mask(keys, _mm512_castsi512_si256(bounds));
    auto taken = static_cast<size_t>(__builtin_popcount(mask));
    taken = taken < k - found ? taken : k - found;  // copies of the first key may follow the last
    _mm512_mask_storeu_epi64(places + found, static_cast<__mmask8>((1U << taken) - 1),
                             _mm512_maskz_compress_epi64(mask, place));
    found += taken;
  }
#else
  for (size_t i = 0; found < k; ++i) {
    places[found] = base + i;
    found += row.keys[i] < bound;
  }
#endif
}

// The rare case of keys equal to the bound of which only some belong to the sample.
void gather_with_ties(uint64_t* places, const Row& row, size_t k, uint64_t base, Cut cut) {
  size_t found = 0;
  for (size_t i = 0; found < k; ++i) {
    bool tie = row.keys[i] == cut.bound && cut.ties > 0;
    cut.ties -= tie;
    if (tie || row.keys[i] < cut.bound) places[found++] = base + i;
  }
}

}  // namespace

void select_smallest(uint64_t* places, int32_t* keys, size_t count, size_t k, uint64_t base) {
  Row row = pad(keys, count);
  Cut cut = find_cut(row, k);
  if (cut.ties == 0)
    gather(places, row, k, base, cut.bound);
  else
    gather_with_ties(places, row, k, base, cut);
}

}  // namespace spex::SPEX_ISA
