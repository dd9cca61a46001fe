#include <spex/ops/elementwise.h>

#include "ops/checks.h"
#include "ops/numbers.h"

namespace spex {
namespace {

void require_alike(const Var& a, const Var& b, const char* what) {
  require_same_shape(a, b, what);
  require_packed(a.value(), what);
  require_packed(b.value(), what);
}

// A contribution of factor(i) dy[i] at number i, of which dy itself is needed afterwards.
template <class Factor>
void contribute(Gradient& gradient, const Matrix& dy, Factor&& factor) {
  GradientTarget target = gradient.target(dy.rows(), dy.cols());
  float* out = target.out.data;
  const float* d = dy.data();
  if (target.add)
    for_numbers(out, dy.size(), [&](size_t i) { return out[i] + factor(i) * d[i]; });
  else
    for_numbers(out, dy.size(), [&](size_t i) { return factor(i) * d[i]; });
}

// The same where dy is not needed any more: its buffer becomes the contribution.
template <class Factor>
void contribute_last(Gradient& gradient, Matrix dy, Factor&& factor) {
  float* d = dy.data();
  for_numbers(d, dy.size(), [&](size_t i) { return factor(i) * d[i]; });
  gradient.give(std::move(dy));
}

}  // namespace

// da = wa dy, db = wb dy. Kept for backward: nothing.
Var combine(Tape& tape, Var a, float wa, const Var& b, float wb) {
  require_alike(a, b, "combine");
  Matrix y = Tape::buffer_of(a);
  const float* right = b.value().data;
  map_numbers(y, a.value().data, [=](float x, size_t i) { return wa * x + wb * right[i]; });
  return tape.result_owning(
      Tape::share(std::move(y)), {a, b}, [wa, wb, da = a.gradient(), db = b.gradient()](Matrix dy) {
        if (da && db) contribute(*da, dy, [wa](size_t) { return wa; });
        float last = db ? wb : wa;
        Gradient& gradient = db ? *db : *da;
        if (last == 1.0F) return gradient.give(std::move(dy));
        contribute_last(gradient, std::move(dy), [last](size_t) { return last; });
      });
}

Var add(Tape& tape, Var a, const Var& b) {
  return combine(tape, std::move(a), 1.0F, b, 1.0F);
}

// dx = factor dy. Kept for backward: nothing.
Var scale(Tape& tape, const Var& x, float factor) {
  require_packed(x.value(), "scale");
  Matrix y(x.rows(), x.cols(), MemoryTag::activations);
  const float* in = x.value().data;
  for_numbers(y.data(), y.size(), [&](size_t i) { return factor * in[i]; });
  return tape.result_owning(Tape::share(std::move(y)), {x}, [factor, dx = x.gradient()](Matrix dy) {
    contribute_last(*dx, std::move(dy), [factor](size_t) { return factor; });
  });
}

// da = b dy, db = a dy. Kept for backward: each input whose partner wants a gradient.
Var multiply(Tape& tape, const Var& a, const Var& b) {
  require_alike(a, b, "multiply");
  Matrix y(a.rows(), a.cols(), MemoryTag::activations);
  const float* left = a.value().data;
  const float* right = b.value().data;
  for_numbers(y.data(), y.size(), [&](size_t i) { return left[i] * right[i]; });
  auto da = a.gradient(), db = b.gradient();
  return tape.result_owning(
      Tape::share(std::move(y)), {a, b},
      [da, db, ka = db ? a.keep() : nullptr, kb = da ? b.keep() : nullptr](Matrix dy) {
        auto times = [](const auto& kept) {
          return [factors = kept->view().data](size_t i) { return factors[i]; };
        };
        if (da && db) contribute(*da, dy, times(kb));
        contribute_last(db ? *db : *da, std::move(dy), times(db ? ka : kb));
      });
}

}  // namespace spex
