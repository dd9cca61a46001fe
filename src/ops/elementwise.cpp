#include <spex/core/threads.h>
#include <spex/ops/elementwise.h>

#include <algorithm>
#include <numeric>

#include "ops/checks.h"

namespace spex {
namespace {

constexpr size_t kBlock = 32768;  // numbers per parallel block: a few caches full

// out[i] = value(i), over flat arrays.
template <class Value>
void for_numbers(float* out, size_t count, Value&& value) {
  parallel_for(count, kBlock, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) out[i] = value(i);
  });
}

// Eight sums side by side, so that no addition waits for the one before it.
double dot(const float* a, const float* b, size_t count) {
  return parallel_sum(count, kBlock, 0.0, [&](size_t begin, size_t end) {
    double lanes[8] = {};
    size_t i = begin;
    for (; i + 8 <= end; i += 8)
      for (size_t l = 0; l < 8; ++l) lanes[l] += double{a[i + l]} * b[i + l];
    for (; i < end; ++i) lanes[0] += double{a[i]} * b[i];
    return std::accumulate(lanes, lanes + 8, 0.0);
  });
}

}  // namespace

// y = max(x, 0); dx = dy where y > 0. Kept for backward: y, which the next operation keeps anyway.
Var relu(Tape& tape, const Var& x) {
  require_packed(x.value(), "relu");
  Matrix y(x.rows(), x.cols(), MemoryTag::activations);
  const float* in = x.value().data;
  for_numbers(y.data(), y.size(), [&](size_t i) { return std::max(in[i], 0.0F); });
  auto shared = Tape::share(std::move(y));
  return tape.result_owning(shared, {x}, [ky = shared, dx = x.gradient()](Matrix dy) {
    const float* out = ky->view().data;
    float* d = dy.data();
    for_numbers(d, dy.size(), [&](size_t i) {
      float whole = d[i];  // read in any case: a conditional read would not become a vector
      return out[i] > 0.0F ? whole : 0.0F;
    });
    dx->give(std::move(dy));
  });
}

// da = dy, db = dy. Kept for backward: nothing.
Var add(Tape& tape, const Var& a, const Var& b) {
  require_same_shape(a, b, "add");
  require_packed(a.value(), "add");
  require_packed(b.value(), "add");
  Matrix y(a.rows(), a.cols(), MemoryTag::activations);
  const float* left = a.value().data;
  const float* right = b.value().data;
  for_numbers(y.data(), y.size(), [&](size_t i) { return left[i] + right[i]; });
  return tape.result_owning(Tape::share(std::move(y)), {a, b},
                            [da = a.gradient(), db = b.gradient()](Matrix dy) {
                              if (da && db) {
                                GradientTarget target = da->target(dy.rows(), dy.cols());
                                target.add ? add(target.out, dy) : copy(target.out, dy);
                              }
                              (db ? db : da)->give(std::move(dy));
                            });
}

// y = s x; dx = s dy, ds = sum of dy x. Kept for backward: x and s.
Var scale(Tape& tape, const Var& x, const Var& s) {
  require_shape(s, 1, 1, "scale");
  require_packed(x.value(), "scale");
  Matrix y(x.rows(), x.cols(), MemoryTag::activations);
  const float* in = x.value().data;
  float factor = s.value()(0, 0);
  for_numbers(y.data(), y.size(), [&](size_t i) { return factor * in[i]; });
  return tape.result_owning(
      Tape::share(std::move(y)), {x, s},
      [kx = x.keep(), factor, dx = x.gradient(), ds = s.gradient()](Matrix dy) {
        float* d = dy.data();
        if (ds)
          ds->accumulator(1, 1)(0, 0) += static_cast<float>(dot(d, kx->view().data, dy.size()));
        if (!dx) return;
        for_numbers(d, dy.size(), [&](size_t i) { return factor * d[i]; });
        dx->give(std::move(dy));
      });
}

}  // namespace spex
