// Attention within groups of a few rows: nothing but the inputs is kept, and backward makes the
// weights again.
#include <spex/core/threads.h>
#include <spex/ops/dense_attention.h>

#include <cmath>
#include <vector>

#include "ops/checks.h"
#include "ops/dense_attention_kernels.h"
#include "ops/linear_parts.h"

namespace spex {
namespace {

size_t groups_per_block(size_t tokens, size_t cols) {
  return std::max<size_t>(1, 16384 / std::max<size_t>(1, tokens * cols));
}

void check_groups(size_t rows, size_t tokens, const char* what) {
  require(tokens > 0 && rows % tokens == 0, "{}: {} rows are not groups of {}", what, rows, tokens);
}

// Where kernels add to: zeros at first.
float* accumulated(const std::shared_ptr<Gradient>& gradient, ConstMatrixView like) {
  return gradient ? gradient->accumulator(like.rows, like.cols).data : nullptr;
}

struct Groups {
  ConstMatrixView q, k, v;
  size_t tokens, heads;

  // Calls body(first number of the group, the group), in parallel.
  template <class Body>
  void for_groups(Body&& body) const {
    size_t width = q.cols / heads;
    float scale = 1.0F / std::sqrt(static_cast<float>(std::max<size_t>(1, width)));
    parallel_for(q.rows / tokens, groups_per_block(tokens, q.cols), [&](size_t begin, size_t end) {
      std::vector<float> scratch(token_scratch(tokens, width));
      for (size_t g = begin; g < end; ++g) {
        size_t at = g * tokens * q.cols;
        body(at, TokenGroup{q.data + at, k.data + at, v.data + at, tokens, heads, width, scale,
                            scratch.data()});
      }
    });
  }
};

float* from(float* data, size_t at) {
  return data ? data + at : nullptr;
}

}  // namespace

// The formulas stand at the kernels. Kept for backward: q, k and v.
Var token_attention(Tape& tape, const Var& q, const Var& k, const Var& v, size_t tokens,
                    size_t heads) {
  check_groups(q.rows(), tokens, "token attention");
  require(heads > 0 && q.cols() % heads == 0, "token attention: {} heads do not divide {} columns",
          heads, q.cols());
  for (const Var& other : {q, k, v}) {
    require_same_shape(q, other, "token attention");
    require_packed(other.value(), "token attention");
  }
  Matrix out(q.rows(), q.cols(), MemoryTag::activations);
  Groups{q.value(), k.value(), v.value(), tokens, heads}.for_groups(
      [&](size_t at, const TokenGroup& group) {
        SPEX_CALL(token_forward, out.data() + at, group);
      });
  return tape.result(std::move(out), {q, k, v},
                     [tokens, heads, kq = q.keep(), kk = k.keep(), kv = v.keep(), gq = q.gradient(),
                      gk = k.gradient(), gv = v.gradient()](ConstMatrixView dout) {
                       float* dq = accumulated(gq, dout);
                       float* dk = accumulated(gk, dout);
                       float* dv = accumulated(gv, dout);
                       Groups{kq->view(), kk->view(), kv->view(), tokens, heads}.for_groups(
                           [&](size_t at, const TokenGroup& group) {
                             SPEX_CALL(token_backward, from(dq, at), from(dk, at), from(dv, at),
                                       dout.data + at, group);
                           });
                     });
}

// Kept for backward: t and u.
Var hop_readout(Tape& tape, const Var& t, const Var& u, size_t tokens) {
  check_groups(t.rows(), tokens, "hop_readout");
  require_packed(t.value(), "hop_readout");
  require_shape(u, 1, t.cols(), "hop_readout");
  size_t nodes = t.rows() / tokens, cols = t.cols(), block = groups_per_block(tokens, cols);
  auto hops = [tokens, cols](ConstMatrixView t, ConstMatrixView u, size_t node, float* scratch) {
    return Hops{t.row(node * tokens), u.data, tokens, cols, scratch};
  };
  Matrix out(nodes, cols, MemoryTag::activations);
  parallel_for(nodes, block, [&](size_t begin, size_t end) {
    std::vector<float> scratch(2 * tokens);
    for (size_t i = begin; i < end; ++i)
      SPEX_CALL(hop_forward, out.view().row(i), hops(t.value(), u.value(), i, scratch.data()));
  });
  return tape.result(std::move(out), {t, u},
                     [hops, tokens, block, kt = t.keep(), ku = u.keep(), gt = t.gradient(),
                      gu = u.gradient()](ConstMatrixView dout) {
                       float* dt = accumulated(gt, kt->view());
                       Slices slices(dout.rows, block);
                       Matrix parts =
                           Matrix::zeros(slices.count, gu ? dout.cols : 0, MemoryTag::gradients);
                       slices.for_blocks([&](size_t slice, size_t first, size_t count) {
                         std::vector<float> scratch(2 * tokens);
                         for (size_t i = first; i < first + count; ++i)
                           SPEX_CALL(hop_backward, from(dt, i * tokens * dout.cols),
                                     gu ? parts.view().row(slice) : nullptr, dout.row(i),
                                     hops(kt->view(), ku->view(), i, scratch.data()));
                       });
                       if (!gu) return;
                       MatrixView du = gu->accumulator(1, dout.cols);
                       for (size_t slice = 0; slice < slices.count; ++slice)
                         add(du, parts.view().block(slice, 1));
                     });
}

}  // namespace spex
