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

// y = base + dropped x, as in the kernel. One 128-bit random number serves eight entries.
void apply(float* y, const float* base, const float* x, const Mask& mask, size_t count) {
  parallel_for(count, kBlock, [&](size_t begin, size_t end) {
    uint32_t words[kChunk / 2];
    for (size_t i = begin; i < end; i += kChunk) {
      size_t n = std::min(kChunk, end - i);
      mask.random.fill({words, (n + 1) / 2}, i / 8);
      SPEX_CALL(drop, y + i, base ? base + i : nullptr, x + i,
                reinterpret_cast<const uint16_t*>(words), mask.threshold, mask.factor(), n);
    }
  });
}

}  // namespace

// dx = dy / (1 - rate) where x was kept, 0 elsewhere. Kept for backward: nothing; the mask is drawn
// again.
Var dropout(Tape& tape, const Var& x, float rate, const Random& random) {
  Mask mask = {random, threshold_of(rate)};
  if (!tape.recording() || mask.threshold == 65536) return x;
  require_packed(x.value(), "dropout");
  Matrix y(x.rows(), x.cols(), MemoryTag::activations);
  apply(y.data(), nullptr, x.value().data, mask, y.size());
  return tape.result_owning(Tape::share(std::move(y)), {x}, [dx = x.gradient(), mask](Matrix dy) {
    apply(dy.data(), nullptr, dy.data(), mask, dy.size());
    dx->give(std::move(dy));
  });
}

// dx = dy, dbranch = dy / (1 - rate) where kept. Kept for backward: nothing.
Var add_dropped(Tape& tape, const Var& x, const Var& branch, float rate, const Random& random) {
  Mask mask = {random, threshold_of(rate)};
  if (!tape.recording() || mask.threshold == 65536) return add(tape, x, branch);
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
