#include "ops/loss_rows.h"

#include "ops/vector_rows.h"

namespace spex::SPEX_ISA {
namespace {

inline float largest_of(const float* z, size_t count) {
  RowFloats most = RowFloats{} - kInfinity;
  for (size_t i = 0; i < count; i += kStep) {
    RowFloats v = load_part(z + i, numbers_from(i, count), -kInfinity);
    most = v > most ? v : most;
  }
  return largest_lane(most);
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
