#include "ops/head_kernels.h"
#include "ops/neighbour_tiles.h"

namespace spex::SPEX_ISA {
namespace {

inline float product(const float* a, const float* b, size_t width) {
  constexpr size_t kEach = kLanes;
  Floats sums{};
  size_t d = 0;
  for (; d + kEach <= width; d += kEach) sums += load<Floats>(a + d) * load<Floats>(b + d);
  float sum = 0.0F;
  for (size_t lane = 0; lane < kEach; ++lane) sum += sums[lane];
  for (; d < width; ++d) sum += a[d] * b[d];
  return sum;
}

}  // namespace

void head_products(float* y, const float* x, const float* v, HeadRows shape) {
  for (size_t r = 0; r < shape.rows; ++r)
    for (size_t h = 0; h < shape.heads; ++h, x += shape.width)
      *y++ = product(x, v + h * shape.width, shape.width);
}

void head_products_dx(float* dx, const float* dy, const float* v, HeadRows shape, bool add) {
  for (size_t r = 0; r < shape.rows; ++r)
    for (size_t h = 0; h < shape.heads; ++h, ++dy, dx += shape.width) {
      const float* from = v + h * shape.width;
      if (add)
        for (size_t d = 0; d < shape.width; ++d) dx[d] += *dy * from[d];
      else
        for (size_t d = 0; d < shape.width; ++d) dx[d] = *dy * from[d];
    }
}

void head_products_dv(float* dv, const float* dy, const float* x, HeadRows shape) {
  for (size_t i = 0; i < shape.heads * shape.width; ++i) dv[i] = 0.0F;
  for (size_t r = 0; r < shape.rows; ++r)
    for (size_t h = 0; h < shape.heads; ++h, ++dy, x += shape.width) {
      float* to = dv + h * shape.width;
      for (size_t d = 0; d < shape.width; ++d) to[d] += *dy * x[d];
    }
}

}  // namespace spex::SPEX_ISA
