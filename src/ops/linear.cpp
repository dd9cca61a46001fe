#include <spex/ops/linear.h>
#include <spex/tensor/gemm.h>

#include <algorithm>
#include <functional>

#include "ops/checks.h"
#include "ops/linear_parts.h"

namespace spex {
namespace {

// Rows of a matrix that need not stand side by side: a block of them is copied when it is used.
struct RowsOf {
  ConstMatrixView x;
  std::span<const NodeId> rows;  // ascending; empty: all

  size_t count() const { return rows.empty() ? x.rows : rows.size(); }
  // `room` is there for the copy, if it takes one.
  ConstMatrixView block(size_t begin, size_t count, Matrix& room) const {
    if (rows.empty()) return x.block(begin, count);
    room = Matrix(count, x.cols, MemoryTag::activations);
    for (size_t i = 0; i < count; ++i)
      std::copy_n(x.row(rows[begin + i]), x.cols, room.view().row(i));
    return room;
  }
};

RowsOf rows_of(const Var& x, std::span<const NodeId> rows) {
  bool ascending =
      std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end();
  require(rows.empty() || (ascending && rows.back() < x.rows()),
          "linear: the rows of x must ascend and be below {}", x.rows());
  return {x.value(), rows};
}

// out = x W + b, or what is in it plus that.
void product(MatrixView out, const RowsOf& x, ConstMatrixView w, const float* bias, bool add) {
  parallel_for(out.rows, block_rows(w.rows, w.cols), [&](size_t begin, size_t end) {
    MatrixView part = out.block(begin, end - begin);
    Matrix room;
    gemm(part, x.block(begin, end - begin, room), Transpose::no, w, Transpose::no,
         add ? 1.0F : 0.0F);
    add_bias(part, bias);
  });
}

// dx = dy Wt, dW = xt dy, db = column sums of dy. Kept for backward: x and W.
struct ProductBackward {
  std::shared_ptr<const Value> x, w;
  std::shared_ptr<Gradient> dx, dw, db;
  std::span<const NodeId> rows;

  ProductBackward(const Var& x, const Var& weight, const Var& bias, std::span<const NodeId> rows)
      : x(x.keep()),
        w(weight.keep()),
        dx(x.gradient()),
        dw(weight.gradient()),
        db(bias.gradient()),
        rows(rows) {}

  void operator()(ConstMatrixView dy) const {
    size_t count = x->view().rows, cols = x->view().cols;
    if (!dx)
      run(dy, {});
    else if (rows.empty())
      run(dy, dx->target(count, cols));
    else
      run(dy, {dx->accumulator(count, cols), true});
  }

  // Where dx is the first contribution and as large as dy, it is written over it.
  void operator()(Matrix dy) const {
    if (!dx || dx->filled() || !rows.empty() || x->view().cols != dy.cols())
      return (*this)(dy.view());
    run(dy, {dy, false});
    dx->give(std::move(dy));
  }

 private:
  void run(ConstMatrixView dy, GradientTarget target) const {
    RowsOf in{x->view(), rows};
    ConstMatrixView weight = w->view();
    Slices slices(dy.rows, block_rows(weight.rows, weight.cols));
    WeightGradients gradients(slices, *w, dw, db);
    slices.for_blocks([&](size_t slice, size_t begin, size_t count) {
      ConstMatrixView part = dy.block(begin, count);
      Matrix room;
      gradients.add(slice, in.block(begin, count, room), part);
      if (!dx) return;
      if (!rows.empty()) return scatter(target.out, part, begin);
      MatrixView out = target.out.block(begin, count);
      if (out.data == part.data) {
        room = Matrix(count, part.cols, MemoryTag::gradients);
        copy(room, part);
        part = room;
      }
      gemm(out, part, Transpose::no, weight, Transpose::yes, target.add ? 1.0F : 0.0F);
    });
    gradients.finish();
  }

  // Blocks have no row in common.
  void scatter(MatrixView out, ConstMatrixView part, size_t begin) const {
    Matrix product(part.rows, out.cols, MemoryTag::gradients);
    gemm(product, part, Transpose::no, w->view(), Transpose::yes, 0.0F);
    for (size_t i = 0; i < part.rows; ++i)
      for (size_t c = 0; c < out.cols; ++c) out.row(rows[begin + i])[c] += product(i, c);
  }
};

}  // namespace

Var linear(Tape& tape, const Var& x, const Var& weight, const Var& bias,
           std::span<const NodeId> rows) {
  check_linear(x.cols(), weight, bias);
  RowsOf in = rows_of(x, rows);
  Matrix y(in.count(), weight.cols(), MemoryTag::activations);
  product(y, in, weight.value(), data_of(bias), false);
  return tape.result_owning(Tape::share(std::move(y)), {x, weight, bias},
                            ProductBackward(x, weight, bias, rows));
}

// dy is y's gradient as it is. Kept for backward besides: nothing.
Var add_linear(Tape& tape, Var y, const Var& x, const Var& weight, const Var& bias,
               std::span<const NodeId> rows) {
  check_linear(x.cols(), weight, bias);
  RowsOf in = rows_of(x, rows);
  require_shape(y, in.count(), weight.cols(), "add_linear");
  require_packed(y.value(), "add_linear");
  Matrix sum = Tape::buffer_of(y);
  if (sum.data() != y.value().data) copy(sum, y.value());
  product(sum, in, weight.value(), data_of(bias), true);
  return tape.result_owning(
      Tape::share(std::move(sum)), {y, x, weight, bias},
      [undo = ProductBackward(x, weight, bias, rows), gy = y.gradient()](Matrix dy) {
        undo(dy.view());
        if (gy) gy->give(std::move(dy));
      });
}

}  // namespace spex
