// A row lies on vectors of at most eight lanes; rows of 1, 2 or 4 numbers share one.
#include "ops/row_kernels.h"

#include "core/vectors.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace spex::SPEX_ISA {
namespace {

using Vec = RowFloats;
constexpr size_t kStep = lanes<Vec>;

inline Vec all(float value) {
  return Vec{} + value;
}

inline Vec square_root(Vec v) {
#if defined(__AVX2__)
  return (Vec)_mm256_sqrt_ps((__m256)v);
#else
  for (size_t l = 0; l < kStep; ++l) v[l] = __builtin_sqrtf(v[l]);
  return v;
#endif
}

// In every lane, the sum of the G lanes of its row, or of all of them where the row has more.
template <size_t G>
inline Vec row_sum(Vec v) {
#if defined(__AVX2__)
  if (G >= 8) v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
  if (G >= 4) v += __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5);
  if (G >= 2) v += __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6);
#else
  if (G >= 4) v += __builtin_shufflevector(v, v, 2, 3, 0, 1);
  if (G >= 2) v += __builtin_shufflevector(v, v, 1, 0, 3, 2);
#endif
  return v;
}

// A group is what is handled together: one row, or the rows that share a vector. Its last vector
// may be partly filled; lanes beyond the end read as zero and are not written.
struct Group {
  size_t count;  // numbers in it

  size_t vectors() const { return (count + kStep - 1) / kStep; }
  Vec load(const float* p, size_t k) const {
    if (kStep * (k + 1) <= count) return SPEX_ISA::load<Vec>(p + kStep * k);
    Vec v = {};
    for (size_t l = 0; kStep * k + l < count; ++l) v[l] = p[kStep * k + l];
    return v;
  }
  void store(float* p, size_t k, Vec v) const {
    if (kStep * (k + 1) <= count) return SPEX_ISA::store(p + kStep * k, v);
    for (size_t l = 0; kStep * k + l < count; ++l) p[kStep * k + l] = v[l];
  }
  // Zeros the lanes beyond the end.
  Vec filled(Vec v, size_t k) const {
    if (kStep * (k + 1) <= count) return v;
    return lane_numbers<Integers<Vec>>() < static_cast<int>(count - kStep * k) ? v : Vec{};
  }
};

template <class Body>
inline void for_groups(size_t rows, size_t cols, Body&& body) {
  size_t size = rows * cols;
  size_t step = cols == 1 || cols == 2 || cols == 4 ? kStep : cols;
  for (size_t begin = 0; begin < size; begin += step)
    body(begin, Group{begin + step <= size ? step : size - begin});
}

struct RowMoments {
  Vec mean, inverse;
};

template <size_t G>
inline RowMoments moments(const float* x, Group group, float over_cols, float epsilon) {
  Vec sum = {};
  for (size_t k = 0; k < group.vectors(); ++k) sum += group.load(x, k);
  Vec mean = row_sum<G>(sum) * over_cols;
  Vec squares = {};
  for (size_t k = 0; k < group.vectors(); ++k) {
    Vec d = group.filled(group.load(x, k) - mean, k);
    squares += d * d;
  }
  return {mean, 1.0F / square_root(row_sum<G>(squares) * over_cols + epsilon)};
}

inline Vec column(const float* values, size_t k) {
  return load<Vec>(values + kStep * k);
}

template <size_t G>
void layer_norm_of(float* y, const float* x, const float* gain, const float* bias, float epsilon,
                   size_t rows, size_t cols) {
  float over_cols = 1.0F / static_cast<float>(cols);
  for_groups(rows, cols, [&](size_t at, Group group) {
    RowMoments m = moments<G>(x + at, group, over_cols, epsilon);
    for (size_t k = 0; k < group.vectors(); ++k) {
      Vec hat = (group.load(x + at, k) - m.mean) * m.inverse;
      group.store(y + at, k, column(gain, k) * hat + column(bias, k));
    }
  });
}

// With g = gain dy and xhat = (x - mean) s: dx = s (g - mean(g) - xhat mean(g xhat)).
template <size_t G>
void layer_norm_backward_of(float* dy, float* dgain, float* dbias, const float* x,
                            const float* gain, float epsilon, size_t rows, size_t cols) {
  float over_cols = 1.0F / static_cast<float>(cols);
  for_groups(rows, cols, [&](size_t at, Group group) {
    RowMoments m = moments<G>(x + at, group, over_cols, epsilon);
    Vec sum = {}, dot = {};
    for (size_t k = 0; k < group.vectors(); ++k) {
      Vec d = group.load(dy + at, k);
      Vec hat = (group.load(x + at, k) - m.mean) * m.inverse;
      store(dgain + kStep * k, column(dgain, k) + d * hat);
      store(dbias + kStep * k, column(dbias, k) + d);
      Vec g = d * column(gain, k);
      sum += g;
      dot += g * hat;
    }
    sum = row_sum<G>(sum) * over_cols;
    dot = row_sum<G>(dot) * over_cols;
    for (size_t k = 0; k < group.vectors(); ++k) {
      Vec g = group.load(dy + at, k) * column(gain, k);
      Vec hat = (group.load(x + at, k) - m.mean) * m.inverse;
      group.store(dy + at, k, m.inverse * (g - sum - hat * dot));
    }
  });
}

// max(|x|, floor) of the rows of a group, in every lane.
template <size_t G>
inline Vec norms(const float* x, Group group, float floor) {
  Vec squares = {};
  for (size_t k = 0; k < group.vectors(); ++k) {
    Vec v = group.load(x, k);
    squares += v * v;
  }
  Vec norm = square_root(row_sum<G>(squares));
  return norm > floor ? norm : all(floor);
}

template <size_t G>
void normalize_of(float* y, const float* x, float s, float floor, size_t rows, size_t cols) {
  for_groups(rows, cols, [&](size_t at, Group group) {
    Vec factor = s / norms<G>(x + at, group, floor);
    for (size_t k = 0; k < group.vectors(); ++k)
      group.store(y + at, k, factor * group.load(x + at, k));
  });
}

// With n = |x|: dx = s / n (dy - x (x . dy) / n^2), ds = sum of (x . dy) / n. Where n is below the
// floor it is a constant: the second term is zero.
template <size_t G>
double normalize_backward_of(float* dy, const float* x, float s, float floor, size_t rows,
                             size_t cols) {
  Vec ds = {};
  for_groups(rows, cols, [&](size_t at, Group group) {
    Vec n = norms<G>(x + at, group, floor), dot = {};
    for (size_t k = 0; k < group.vectors(); ++k)
      dot += group.load(x + at, k) * group.load(dy + at, k);
    Vec along = row_sum<G>(dot) / n;
    ds += along;
    Vec factor = s / n;
    Vec back = n > floor ? along / n : Vec{};
    for (size_t k = 0; k < group.vectors(); ++k)
      group.store(dy + at, k, factor * (group.load(dy + at, k) - group.load(x + at, k) * back));
  });
  double total = 0;
  for (size_t l = 0; l < kStep; l += G) total += ds[l];
  return total;
}

}  // namespace

#define SPEX_FOR_WIDTH(function, ...)  \
  switch (cols) {                      \
    case 1:                            \
      return function<1>(__VA_ARGS__); \
    case 2:                            \
      return function<2>(__VA_ARGS__); \
    case 4:                            \
      return function<4>(__VA_ARGS__); \
    default:                           \
      return function<8>(__VA_ARGS__); \
  }

void layer_norm_rows(float* y, const float* x, const float* gain, const float* bias, float epsilon,
                     size_t rows, size_t cols) {
  SPEX_FOR_WIDTH(layer_norm_of, y, x, gain, bias, epsilon, rows, cols)
}

void layer_norm_rows_backward(float* dy, float* dgain, float* dbias, const float* x,
                              const float* gain, float epsilon, size_t rows, size_t cols) {
  SPEX_FOR_WIDTH(layer_norm_backward_of, dy, dgain, dbias, x, gain, epsilon, rows, cols)
}

void normalize_rows_forward(float* y, const float* x, float s, float floor, size_t rows,
                            size_t cols) {
  SPEX_FOR_WIDTH(normalize_of, y, x, s, floor, rows, cols)
}

double normalize_rows_backward(float* dy, const float* x, float s, float floor, size_t rows,
                               size_t cols) {
  SPEX_FOR_WIDTH(normalize_backward_of, dy, x, s, floor, rows, cols)
}

}  // namespace spex::SPEX_ISA
