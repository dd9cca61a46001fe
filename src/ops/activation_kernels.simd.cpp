#include "ops/activation_kernels.h"

#include "ops/vector_rows.h"

namespace spex::SPEX_ISA {
namespace {

// y[i] = map(y[i], x[i]), a vector at a time.
template <class Map>
inline void map_numbers(float* y, const float* x, size_t count, Map map) {
  for (size_t i = 0; i < count; i += kStep) {
    size_t numbers = numbers_from(i, count);
    store_part(y + i, map(load_part(y + i, numbers, 0.0F), load_part(x + i, numbers, 0.0F)),
               numbers);
  }
}

inline RowFloats absolute(RowFloats x) {
  return x > 0.0F ? x : -x;
}

struct Normal {
  RowFloats below;    // the probability of a value below x
  RowFloats density;  // at x
};

// erfc(z) = (a1 t + .. + a5 t^5) exp(-z^2), t = 1 / (1 + p z), for z >= 0: Abramowitz and Stegun,
// 7.1.26, off by at most 1.5e-7. Here z = |x| / sqrt(2).
inline Normal normal_at(RowFloats x) {
  RowFloats z = absolute(x) * 0.70710678F;
  RowFloats e =
      z < 8.9F ? exponential(clamp(-z * z, 80.0F)) : RowFloats{};  // zero even times a huge x
  RowFloats t = 1.0F / (z * 0.3275911F + 1.0F);
  RowFloats p = t * 1.061405429F - 1.453152027F;
  p = p * t + 1.421413741F;
  p = p * t - 0.284496736F;
  p = p * t + 0.254829592F;
  RowFloats tail = 0.5F * p * t * e;
  return {x > 0.0F ? 1.0F - tail : tail, e * 0.39894228F};
}

}  // namespace

void sigmoid_numbers(float* y, const float* x, size_t count) {
  map_numbers(y, x, count, [](RowFloats, RowFloats v) {
    RowFloats e = exponential(clamp(-absolute(v), 80.0F));
    return (v > 0.0F ? RowFloats{} + 1.0F : e) / (e + 1.0F);
  });
}

void elu_numbers(float* y, const float* x, size_t count) {
  map_numbers(y, x, count, [](RowFloats, RowFloats v) {
    RowFloats e = exponential(clamp(v > 0.0F ? RowFloats{} : v, 80.0F));
    return v > 0.0F ? v : e - 1.0F;
  });
}

void gelu_numbers(float* y, const float* x, size_t count) {
  map_numbers(y, x, count, [](RowFloats, RowFloats v) { return v * normal_at(v).below; });
}

void gelu_backward(float* dy, const float* x, size_t count) {
  map_numbers(dy, x, count, [](RowFloats d, RowFloats v) {
    Normal normal = normal_at(v);
    return d * (normal.below + v * normal.density);
  });
}

}  // namespace spex::SPEX_ISA
