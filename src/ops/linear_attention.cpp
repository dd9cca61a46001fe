// A one is put behind each value, so that z is a last column of S, and the denominator a last
// column of what comes out: every step is one matrix product per head and block of rows. Heads'
// matrices of K x (D + 1) stand one above the other.
#include <spex/core/threads.h>
#include <spex/ops/linear_attention.h>
#include <spex/tensor/gemm.h>

#include <vector>

#include "ops/checks.h"
#include "ops/columns.h"
#include "ops/linear_parts.h"

namespace spex {
namespace {

constexpr size_t kBlockRows = 256;

struct Call {
  Var q, k, v;
  LinearAttentionOptions options;
  size_t heads, key_width, value_width;  // widths of one head

  ConstMatrixView queries(size_t h) const { return q.value().columns(h * key_width, key_width); }
  ConstMatrixView keys(size_t h) const { return k.value().columns(h * key_width, key_width); }
  size_t values_at(size_t h) const { return h * value_width; }
  float weight(size_t j, size_t h) const {
    return options.key_weights ? options.key_weights.value()(j, h) : 1.0F;
  }

  // w [v 1] of a block of keys.
  void weighted_values(MatrixView out, size_t h, size_t first) const {
    for (size_t r = 0; r < out.rows; ++r) {
      float w = weight(first + r, h);
      const float* row = v.value().row(first + r) + values_at(h);
      for (size_t d = 0; d < value_width; ++d) out(r, d) = w * row[d];
      out(r, value_width) = w;
    }
  }
};

Matrix scratch(const Call& c, size_t rows) {
  return Matrix(rows, c.value_width + 1, MemoryTag::activations);
}

// The sum over blocks of rows of left^T right(h, first row, count), per head.
template <class Left, class Right>
Matrix sum_products(const Call& c, size_t rows, Left&& left, Right&& right) {
  Slices slices(rows, kBlockRows);
  size_t size = c.heads * c.key_width;
  Matrix parts = Matrix::zeros(slices.count * size, c.value_width + 1, MemoryTag::activations);
  slices.for_blocks([&](size_t slice, size_t first, size_t count) {
    Matrix block = scratch(c, count);
    for (size_t h = 0; h < c.heads; ++h) {
      right(block.view(), h, first);
      gemm(parts.view().block(slice * size + h * c.key_width, c.key_width),
           left(h).block(first, count), Transpose::yes, block, Transpose::no, 1.0F);
    }
  });
  Matrix total = Matrix::zeros(size, c.value_width + 1, MemoryTag::activations);
  for (size_t slice = 0; slice < slices.count; ++slice)
    add(total, parts.view().block(slice * size, size));
  return total;
}

void check(const Call& c) {
  require(c.heads > 0 && c.q.cols() % c.heads == 0 && c.v.cols() % c.heads == 0,
          "linear attention: {} heads do not divide widths of {} and {}", c.heads, c.q.cols(),
          c.v.cols());
  require(c.q.cols() == c.k.cols() && c.k.rows() == c.v.rows(),
          "linear attention: queries of {} columns, {} x {} keys, {} values", c.q.cols(),
          c.k.rows(), c.k.cols(), c.v.rows());
  require(c.options.own_value == 0 || c.q.rows() == c.v.rows(),
          "linear attention: {} queries have no values of their own among {}", c.q.rows(),
          c.v.rows());
  const Var& weights = c.options.key_weights;
  require(!weights || (weights.rows() == c.k.rows() && weights.cols() == c.heads),
          "linear attention: {} x {} key weights for {} keys and {} heads", weights.rows(),
          weights.cols(), c.k.rows(), c.heads);
  require(!weights.gradient(), "linear attention: key weights must be a constant");
  require_packed(c.v.value(), "linear attention");
}

// b times the sum of all values.
std::vector<float> sum_of_values(const Call& c) {
  std::vector<float> sums(c.v.cols(), 0.0F);
  if (c.options.value_sum == 0 || sums.empty()) return sums;
  std::vector<double> exact = column_sums(c.v.value());
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i] = static_cast<float>(c.options.value_sum * exact[i]);
  return sums;
}

Matrix forward(const Call& c, ConstMatrixView state) {
  std::vector<float> shared = sum_of_values(c);
  Matrix out(c.q.rows(), c.v.cols(), MemoryTag::activations);
  parallel_for(out.rows(), kBlockRows, [&](size_t begin, size_t end) {
    Matrix block = scratch(c, end - begin);
    for (size_t h = 0; h < c.heads; ++h) {
      gemm(block, c.queries(h).block(begin, end - begin), Transpose::no,
           state.block(h * c.key_width, c.key_width), Transpose::no);
      for (size_t i = begin; i < end; ++i) {
        const float* above = block.view().row(i - begin);
        float inverse = 1.0F / (above[c.value_width] + c.options.constant);
        for (size_t d = 0, at = c.values_at(h); d < c.value_width; ++d, ++at) {
          float own = c.options.own_value == 0 ? 0.0F : c.options.own_value * c.v.value()(i, at);
          out(i, at) = (above[d] + own + shared[at]) * inverse;
        }
      }
    }
  });
  return out;
}

struct Backward {
  const Call& c;
  ConstMatrixView state, out, dout;

  // [g, -g . out] of a block of queries, with g = dout / denominator: the gradients of numerator
  // and denominator.
  void query_gradients(MatrixView to, size_t h, size_t first) const {
    ConstMatrixView q = c.queries(h), s = state.block(h * c.key_width, c.key_width);
    for (size_t r = 0; r < to.rows; ++r) {
      float denominator = c.options.constant, inner = 0.0F;
      for (size_t e = 0; e < c.key_width; ++e) denominator += q(first + r, e) * s(e, c.value_width);
      for (size_t d = 0, at = c.values_at(h); d < c.value_width; ++d, ++at) {
        to(r, d) = dout(first + r, at) / denominator;
        inner += to(r, d) * out(first + r, at);
      }
      to(r, c.value_width) = -inner;
    }
  }

  // dq_i = [g, -g . out] [S z]^T, and what the numerator's own value asks for: dv_i = a g.
  void query_rows(GradientTarget dq, GradientTarget dv, size_t begin, size_t end) const {
    Matrix g = scratch(c, end - begin);
    for (size_t h = 0; h < c.heads; ++h) {
      query_gradients(g, h, begin);
      if (dq.out.data)
        gemm(dq.out.block(begin, g.rows()).columns(h * c.key_width, c.key_width), g, Transpose::no,
             state.block(h * c.key_width, c.key_width), Transpose::yes, dq.add ? 1.0F : 0.0F);
      for (size_t i = begin; dv.out.data && i < end; ++i)
        for (size_t d = 0, at = c.values_at(h); d < c.value_width; ++d, ++at)
          dv.out(i, at) = (dv.add ? dv.out(i, at) : 0.0F) + c.options.own_value * g(i - begin, d);
    }
  }

  // dk_j = w_j [v_j 1] [dS dz]^T, dv_j = w_j k_j dS + b sum of g.
  void key_rows(GradientTarget dk, GradientTarget dv, ConstMatrixView dstate,
                const std::vector<float>& shared, size_t begin, size_t end) const {
    Matrix block = scratch(c, end - begin);
    for (size_t h = 0; h < c.heads; ++h) {
      ConstMatrixView ds = dstate.block(h * c.key_width, c.key_width);
      if (dk.out.data) {
        c.weighted_values(block, h, begin);
        gemm(dk.out.block(begin, block.rows()).columns(h * c.key_width, c.key_width), block,
             Transpose::no, ds, Transpose::yes, dk.add ? 1.0F : 0.0F);
      }
      if (!dv.out.data) continue;
      gemm(block, c.keys(h).block(begin, block.rows()), Transpose::no, ds, Transpose::no);
      for (size_t j = begin; j < end; ++j)
        for (size_t d = 0, at = c.values_at(h); d < c.value_width; ++d, ++at)
          dv.out(j, at) =
              (dv.add ? dv.out(j, at) : 0.0F) + shared[at] + c.weight(j, h) * block(j - begin, d);
    }
  }

  // b times the sum of g over all queries.
  std::vector<float> sum_of_gradients() const {
    std::vector<float> sums(c.v.cols(), 0.0F);
    if (c.options.value_sum == 0) return sums;
    Slices slices(out.rows, kBlockRows);
    Matrix parts = Matrix::zeros(slices.count, sums.size(), MemoryTag::gradients);
    slices.for_blocks([&](size_t slice, size_t first, size_t count) {
      Matrix g = scratch(c, count);
      for (size_t h = 0; h < c.heads; ++h) {
        query_gradients(g, h, first);
        for (size_t r = 0; r < count; ++r)
          for (size_t d = 0; d < c.value_width; ++d) parts(slice, c.values_at(h) + d) += g(r, d);
      }
    });
    for (size_t slice = 0; slice < slices.count; ++slice)
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += c.options.value_sum * parts(slice, i);
    return sums;
  }
};

GradientTarget target_of(const Var& x) {
  return x.gradient() ? x.gradient()->target(x.rows(), x.cols()) : GradientTarget{};
}

void backward(const Backward& b) {
  const Call& c = b.c;
  GradientTarget dq = target_of(c.q);
  GradientTarget own = c.options.own_value != 0 ? target_of(c.v) : GradientTarget{};
  parallel_for(c.q.rows(), kBlockRows,
               [&](size_t begin, size_t end) { b.query_rows(dq, own, begin, end); });
  if (!c.k.gradient() && !c.v.gradient()) return;
  Matrix dstate = sum_products(
      c, c.q.rows(), [&](size_t h) { return c.queries(h); },
      [&](MatrixView to, size_t h, size_t first) { b.query_gradients(to, h, first); });
  std::vector<float> shared = b.sum_of_gradients();
  // Asked for in the order of their use within a block: where two of them are one, the second adds.
  GradientTarget dk = target_of(c.k), dv = target_of(c.v);
  parallel_for(c.k.rows(), kBlockRows,
               [&](size_t begin, size_t end) { b.key_rows(dk, dv, dstate, shared, begin, end); });
}

}  // namespace

// Kept for backward: q, k, v, the output, and S and z. The formulas stand at Backward.
Var linear_attention(Tape& tape, const Var& q, const Var& k, const Var& v, size_t heads,
                     const LinearAttentionOptions& options) {
  Call c{q, k, v, options, heads, heads ? q.cols() / heads : 0, heads ? v.cols() / heads : 0};
  check(c);
  auto state = std::make_shared<const Matrix>(sum_products(
      c, k.rows(), [&](size_t h) { return c.keys(h); },
      [&](MatrixView to, size_t h, size_t first) { c.weighted_values(to, h, first); }));
  auto out = Tape::share(forward(c, *state));
  return tape.result(out, {q, k, v}, [c, state, out](ConstMatrixView dout) {
    backward({c, *state, out->view(), dout});
  });
}

}  // namespace spex
