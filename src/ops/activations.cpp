#include <spex/ops/elementwise.h>

#include "ops/activation_kernels.h"
#include "ops/checks.h"
#include "ops/numbers.h"

namespace spex {
namespace {

// y = f(x) by kernel(y, x, count); dx = factor(i) dy at number i of the output.
// Kept for backward: y, which the next operation keeps anyway.
template <class Kernel, class Factor>
Var from_output(Tape& tape, const Var& x, const char* what, Kernel kernel, Factor factor) {
  require_packed(x.value(), what);
  Matrix y(x.rows(), x.cols(), MemoryTag::activations);
  const float* in = x.value().data;
  parallel_for(y.size(), kNumbersPerBlock, [&](size_t begin, size_t end) {
    kernel(y.data() + begin, in + begin, end - begin);
  });
  auto shared = Tape::share(std::move(y));
  return tape.result_owning(shared, {x}, [ky = shared, factor, dx = x.gradient()](Matrix dy) {
    const float* out = ky->view().data;
    float* d = dy.data();
    for_numbers(d, dy.size(), [&](size_t i) { return d[i] * factor(out[i]); });
    dx->give(std::move(dy));
  });
}

}  // namespace

// y = max(x, 0); dx = dy where y > 0. Kept for backward: y, which the next operation keeps anyway.
Var relu(Tape& tape, Var x) {
  require_packed(x.value(), "relu");
  Matrix y = Tape::buffer_of(x);
  map_numbers(y, x.value().data, [](float in, size_t) { return std::max(in, 0.0F); });
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

// y = 1 / (1 + e^-x); dx = y (1 - y) dy.
Var sigmoid(Tape& tape, const Var& x) {
  return from_output(
      tape, x, "sigmoid",
      [](float* y, const float* in, size_t count) { SPEX_CALL(sigmoid_numbers, y, in, count); },
      [](float y) { return y * (1.0F - y); });
}

// y = x for x > 0, e^x - 1 elsewhere; dx = dy or (y + 1) dy.
Var elu(Tape& tape, const Var& x) {
  return from_output(
      tape, x, "elu",
      [](float* y, const float* in, size_t count) { SPEX_CALL(elu_numbers, y, in, count); },
      [](float y) { return 1.0F + std::min(y, 0.0F); });
}

// y = x P(x) with P the distribution function of the normal law; dx = (P(x) + x P'(x)) dy. Kept for
// backward: x.
Var gelu(Tape& tape, const Var& x) {
  require_packed(x.value(), "gelu");
  Matrix y(x.rows(), x.cols(), MemoryTag::activations);
  const float* in = x.value().data;
  parallel_for(y.size(), kNumbersPerBlock, [&](size_t begin, size_t end) {
    SPEX_CALL(gelu_numbers, y.data() + begin, in + begin, end - begin);
  });
  return tape.result_owning(
      Tape::share(std::move(y)), {x}, [kx = x.keep(), dx = x.gradient()](Matrix dy) {
        parallel_for(dy.size(), kNumbersPerBlock, [&](size_t begin, size_t end) {
          SPEX_CALL(gelu_backward, dy.data() + begin, kx->view().data + begin, end - begin);
        });
        dx->give(std::move(dy));
      });
}

}  // namespace spex
