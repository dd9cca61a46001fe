#include "ops/loss_rows.h"

#include "core/vectors.h"

namespace spex::SPEX_ISA {
namespace {

constexpr float kInfinity = __builtin_inff();
constexpr size_t kStep = lanes<RowFloats>;

inline size_t numbers_from(size_t first, size_t count) {
  return count - first < kStep ? count - first : kStep;
}

// The next numbers of a row, `filler` behind its end.
inline RowFloats load_part(const float* from, size_t numbers, float filler) {
  if (numbers == kStep) return load<RowFloats>(from);
  RowFloats v = RowFloats{} + filler;
  for (size_t l = 0; l < numbers; ++l) v[l] = from[l];
  return v;
}

inline void add_part(float* to, RowFloats v, size_t numbers) {
  if (numbers == kStep) return store(to, load<RowFloats>(to) + v);
  for (size_t l = 0; l < numbers; ++l) to[l] += v[l];
}

inline float largest_of(const float* z, size_t count) {
  RowFloats most = RowFloats{} - kInfinity;
  for (size_t i = 0; i < count; i += kStep) {
    RowFloats v = load_part(z + i, numbers_from(i, count), -kInfinity);
    most = v > most ? v : most;
  }
  float largest = most[0];
  for (size_t l = 1; l < kStep; ++l) largest = most[l] > largest ? most[l] : largest;
  return largest;
}

inline float sum_of(RowFloats v) {
  float sum = 0.0F;
  for (size_t l = 0; l < kStep; ++l) sum += v[l];
  return sum;
}

// log(1 + e) for 0 <= e <= 1: twice the inverse hyperbolic tangent of s = e / (2 + e) <= 1/3, whose
// series needs seven terms.
inline RowFloats log_one_plus(RowFloats e) {
  RowFloats s = e / (e + 2.0F);
  RowFloats square = s * s;
  RowFloats p = square * (1.0F / 13) + 1.0F / 11;
  p = p * square + 1.0F / 9;
  p = p * square + 1.0F / 7;
  p = p * square + 1.0F / 5;
  p = p * square + 1.0F / 3;
  p = p * square + 1.0F;
  return 2.0F * s * p;
}

}  // namespace

LogSum softmax_row(float* dz, const float* z, float scale, size_t count) {
  float largest = largest_of(z, count);
  auto terms = [&](size_t i) {
    RowFloats below = load_part(z + i, numbers_from(i, count), -kInfinity) - largest;
    return exponential(clamp(below, 80.0F));
  };
  RowFloats sums{};
  for (size_t i = 0; i < count; i += kStep) sums += terms(i);
  float sum = sum_of(sums);
  if (dz)
    for (size_t i = 0; i < count; i += kStep)
      add_part(dz + i, terms(i) * (scale / sum), numbers_from(i, count));
  return {largest, sum};
}

LossTerms logistic_row(float* dz, const float* z, const float* targets, float scale, size_t count) {
  RowFloats losses{}, present{};
  for (size_t i = 0; i < count; i += kStep) {
    size_t numbers = numbers_from(i, count);
    RowFloats v = load_part(z + i, numbers, 0.0F);
    RowFloats t = load_part(targets + i, numbers, __builtin_nanf(""));
    Integers<RowFloats> there = t == t;
    RowFloats e = exponential(clamp(v > 0.0F ? -v : v, 80.0F));
    losses += there ? (v > 0.0F ? v : RowFloats{}) - v * t + log_one_plus(e) : RowFloats{};
    present += there ? RowFloats{} + 1.0F : RowFloats{};
    if (!dz) continue;
    RowFloats sigmoid = (v > 0.0F ? RowFloats{} + 1.0F : e) / (e + 1.0F);
    add_part(dz + i, there ? (sigmoid - t) * scale : RowFloats{}, numbers);
  }
  return {sum_of(losses), static_cast<size_t>(sum_of(present))};
}

}  // namespace spex::SPEX_ISA
