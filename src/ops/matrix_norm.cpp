#include <spex/ops/norms.h>

#include <cmath>
#include <numeric>

#include "ops/checks.h"
#include "ops/numbers.h"

namespace spex {
namespace {

constexpr double kSmallestNorm = 1e-12;

// Eight sums side by side, so that no addition waits for the one before it.
double dot(const float* a, const float* b, size_t count) {
  return parallel_sum(count, kNumbersPerBlock, 0.0, [&](size_t begin, size_t end) {
    double lanes[8] = {};
    size_t i = begin;
    for (; i + 8 <= end; i += 8)
      for (size_t l = 0; l < 8; ++l) lanes[l] += double{a[i + l]} * b[i + l];
    for (; i < end; ++i) lanes[0] += double{a[i]} * b[i];
    return std::accumulate(lanes, lanes + 8, 0.0);
  });
}

}  // namespace

// With n the norm: dx = (dy - y (y . dy)) / n. Kept for backward: y and n.
Var normalize_matrix(Tape& tape, const Var& x) {
  require_packed(x.value(), "normalize_matrix");
  const float* in = x.value().data;
  double norm = std::sqrt(dot(in, in, x.value().size()));
  auto inverse = static_cast<float>(1.0 / std::max(norm, kSmallestNorm));
  Matrix y(x.rows(), x.cols(), MemoryTag::activations);
  for_numbers(y.data(), y.size(), [&](size_t i) { return inverse * in[i]; });
  auto shared = Tape::share(std::move(y));
  return tape.result_owning(
      shared, {x}, [ky = shared, norm, inverse, dx = x.gradient()](Matrix dy) {
        const float* out = ky->view().data;
        float* d = dy.data();
        // Where the norm was cut off it is a constant.
        auto along = norm > kSmallestNorm ? static_cast<float>(dot(out, d, dy.size())) : 0.0F;
        for_numbers(d, dy.size(), [&](size_t i) { return inverse * (d[i] - along * out[i]); });
        dx->give(std::move(dy));
      });
}

}  // namespace spex
