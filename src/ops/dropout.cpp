#include "ops/dropout.h"

#include <spex/core/threads.h>
#include <spex/ops/elementwise.h>

#include <algorithm>
#include <cmath>

#include "ops/checks.h"

namespace spex {
namespace {

constexpr size_t kBlock = 32768;  // numbers per parallel block
constexpr size_t kChunk = 4096;   // numbers whose random bits are drawn at once

struct Mask {
  Random random;
  uint32_t threshold;
  float factor() const { return 65536.0F / static_cast<float>(threshold); }
};

// 65536 keeps everything: dropout is then the identity.
uint32_t threshold_of(float rate) {
  require(rate >= 0.0F && rate < 1.0F, "dropout: the rate {} is not in [0, 1)", rate);
  return std::max<uint32_t>(1, static_cast<uint32_t>(std::lround((1.0 - rate) * 65536.0)));
}

// Calls body(first, 16 random bits for each of the next numbers, how many those are) for chunks of
// `count` numbers. One 128-bit random number serves eight of them.
template <class Body>
void for_chunks(const Random& random, size_t count, Body&& body) {
  parallel_for(count, kBlock, [&](size_t begin, size_t end) {
    uint32_t words[kChunk / 2];
    for (size_t i = begin; i < end; i += kChunk) {
      size_t n = std::min(kChunk, end - i);
      random.fill({words, (n + 1) / 2}, i / 8);
      body(i, reinterpret_cast<const uint16_t*>(words), n);
    }
  });
}

// y = base + dropped x, as in the kernel.
void apply(float* y, const float* base, const float* x, const Mask& mask, size_t count) {
  for_chunks(mask.random, count, [&](size_t i, const uint16_t* bits, size_t n) {
    SPEX_CALL(drop, y + i, base ? base + i : nullptr, x + i, bits, mask.threshold, mask.factor(),
              n);
  });
}

}  // namespace

// dx = dy / (1 - rate) where y > 0: where x was positive and kept. Kept for backward: y.
Var relu_dropped(Tape& tape, const Var& x, float rate, const Random& random) {
  Mask mask = {random, threshold_of(rate)};
  require_packed(x.value(), "relu_dropped");
  Matrix y(x.rows(), x.cols(), MemoryTag::activations);
  for_chunks(random, y.size(), [&](size_t i, const uint16_t* bits, size_t n) {
    SPEX_CALL(drop_relu, y.data() + i, x.value().data + i, bits, mask.threshold, mask.factor(), n);
  });
  auto shared = Tape::share(std::move(y));
  return tape.result_owning(shared, {x},
                            [ky = shared, dx = x.gradient(), factor = mask.factor()](Matrix dy) {
                              const float* kept = ky->view().data;
                              float* d = dy.data();
                              parallel_for(dy.size(), kBlock, [&](size_t begin, size_t end) {
                                for (size_t i = begin; i < end; ++i) {
                                  float whole = factor * d[i];  // in any case: no branch
                                  d[i] = kept[i] > 0.0F ? whole : 0.0F;
                                }
                              });
                              dx->give(std::move(dy));
                            });
}

// dx = dy, dbranch = dy / (1 - rate) where kept. Kept for backward: nothing.
Var add_dropped(Tape& tape, const Var& x, const Var& branch, float rate, const Random& random) {
  Mask mask = {random, threshold_of(rate)};
  if (mask.threshold == 65536) return add(tape, x, branch);
  require_same_shape(x, branch, "add_dropped");
  require_packed(x.value(), "add_dropped");
  require_packed(branch.value(), "add_dropped");
  Matrix y(x.rows(), x.cols(), MemoryTag::activations);
  apply(y.data(), x.value().data, branch.value().data, mask, y.size());
  return tape.result_owning(Tape::share(std::move(y)), {x, branch},
                            [dx = x.gradient(), dbranch = branch.gradient(), mask](Matrix dy) {
                              if (dbranch) {
                                GradientTarget target = dbranch->target(dy.rows(), dy.cols());
                                apply(target.out.data, target.add ? target.out.data : nullptr,
                                      dy.data(), mask, dy.size());
                              }
                              if (dx) dx->give(std::move(dy));
                            });
}

}  // namespace spex
