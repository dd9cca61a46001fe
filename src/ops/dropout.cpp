#include "ops/dropout.h"

#include <spex/ops/elementwise.h>

#include <algorithm>
#include <cmath>

#include "ops/checks.h"
#include "ops/numbers.h"

namespace spex {
namespace {

constexpr size_t kChunk = 4096;  // numbers whose random bits are drawn at once

// Calls body(i, 16 random bits for each of the numbers i, i + 1, ..., how many those are). One
// 128-bit random number serves eight positions.
template <class Body>
void for_chunks(const Random& random, size_t first, size_t count, Body&& body) {
  uint32_t words[kChunk / 2];
  for (size_t i = 0; i < count; i += kChunk) {
    size_t n = std::min(kChunk, count - i);
    random.fill({words, (n + 1) / 2}, (first + i) / 8);
    body(i, reinterpret_cast<const uint16_t*>(words), n);
  }
}

// DropoutMask::drop over a whole matrix.
void drop_all(const DropoutMask& mask, float* y, const float* base, const float* x, size_t count) {
  parallel_for(count, kNumbersPerBlock, [&](size_t begin, size_t end) {
    mask.drop(y + begin, base ? base + begin : nullptr, x + begin, begin, end - begin);
  });
}

}  // namespace

DropoutMask::DropoutMask(float rate, const Random& random) : random_(random) {
  require(rate >= 0.0F && rate < 1.0F, "dropout: the rate {} is not in [0, 1)", rate);
  threshold_ = std::max<uint32_t>(1, static_cast<uint32_t>(std::lround((1.0 - rate) * 65536.0)));
}

void DropoutMask::drop_relu(float* y, size_t first, size_t count) const {
  if (keeps_all()) {
    for (size_t i = 0; i < count; ++i) y[i] = std::max(y[i], 0.0F);
    return;
  }
  for_chunks(random_, first, count, [&](size_t i, const uint16_t* bits, size_t n) {
    SPEX_CALL(drop_relu, y + i, bits, threshold_, factor(), n);
  });
}

void DropoutMask::drop(float* y, const float* base, const float* x, size_t first,
                       size_t count) const {
  for_chunks(random_, first, count, [&](size_t i, const uint16_t* bits, size_t n) {
    SPEX_CALL(drop, y + i, base ? base + i : nullptr, x + i, bits, threshold_, factor(), n);
  });
}

// dx = dy / (1 - rate) where kept. Kept for backward: nothing.
Var dropout(Tape& tape, const Var& x, float rate, const Random& random) {
  DropoutMask mask(rate, random);
  if (mask.keeps_all()) return x;
  require_packed(x.value(), "dropout");
  Matrix y(x.rows(), x.cols(), MemoryTag::activations);
  drop_all(mask, y.data(), nullptr, x.value().data, y.size());
  return tape.result_owning(Tape::share(std::move(y)), {x}, [mask, dx = x.gradient()](Matrix dy) {
    drop_all(mask, dy.data(), nullptr, dy.data(), dy.size());
    dx->give(std::move(dy));
  });
}

// dx = dy / (1 - rate) where y > 0. Kept for backward: y, which the next operation keeps anyway.
Var relu_dropped(Tape& tape, Var x, float rate, const Random& random) {
  DropoutMask mask(rate, random);
  if (mask.keeps_all()) return relu(tape, std::move(x));
  require_packed(x.value(), "relu_dropped");
  Matrix y = Tape::buffer_of(x);
  const float* in = x.value().data;
  parallel_for(y.size(), kNumbersPerBlock, [&](size_t begin, size_t end) {
    if (in != y.data()) std::copy(in + begin, in + end, y.data() + begin);
    mask.drop_relu(y.data() + begin, begin, end - begin);
  });
  auto shared = Tape::share(std::move(y));
  return tape.result_owning(
      shared, {x}, [ky = shared, factor = mask.factor(), dx = x.gradient()](Matrix dy) {
        const float* out = ky->view().data;
        float* d = dy.data();
        for_numbers(d, dy.size(), [&](size_t i) {
          float whole = factor * d[i];  // in any case: a conditional read would not become a vector
          return out[i] > 0.0F ? whole : 0.0F;
        });
        dx->give(std::move(dy));
      });
}

// dx = dy, dbranch = dy / (1 - rate) where kept. Kept for backward: nothing.
Var add_dropped(Tape& tape, const Var& x, const Var& branch, float rate, const Random& random) {
  DropoutMask mask(rate, random);
  if (mask.keeps_all()) return add(tape, x, branch);
  require_same_shape(x, branch, "add_dropped");
  require_packed(x.value(), "add_dropped");
  require_packed(branch.value(), "add_dropped");
  Matrix y(x.rows(), x.cols(), MemoryTag::activations);
  drop_all(mask, y.data(), x.value().data, branch.value().data, y.size());
  return tape.result_owning(Tape::share(std::move(y)), {x, branch},
                            [mask, dx = x.gradient(), dbranch = branch.gradient()](Matrix dy) {
                              if (dbranch) {
                                GradientTarget target = dbranch->target(dy.rows(), dy.cols());
                                drop_all(mask, target.out.data,
                                         target.add ? target.out.data : nullptr, dy.data(),
                                         dy.size());
                              }
                              if (dx) dx->give(std::move(dy));
                            });
}

}  // namespace spex
