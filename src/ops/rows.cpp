#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/ops/rows.h>

#include <algorithm>
#include <cstring>

namespace spex {
namespace {

size_t rows_per_block(size_t cols) {
  return std::max<size_t>(1, 16384 / std::max<size_t>(1, cols));
}

void gather(MatrixView y, ConstMatrixView x, std::span<const NodeId> rows) {
  constexpr size_t kAhead = 16;  // rows fetched ahead of their use
  parallel_for(rows.size(), rows_per_block(x.cols), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      require(rows[i] < x.rows, "gather_rows: row {} of {}", rows[i], x.rows);
      if (i + kAhead < end) __builtin_prefetch(x.data + rows[i + kAhead] * x.stride);
      std::memcpy(y.row(i), x.row(rows[i]), x.cols * sizeof(float));
    }
  });
}

// out[rows[i]] += dy[i]. Each thread reads the whole list and serves a range of out's rows of its
// own, in list order: no atomics, and the sums do not depend on how the rows are shared out.
void scatter_add(MatrixView out, ConstMatrixView dy, std::span<const NodeId> rows) {
  size_t slices = rows.size() * out.cols < 16384 ? 1 : static_cast<size_t>(threads());
  parallel_blocks(slices, [&](size_t slice) {
    size_t first = out.rows * slice / slices;
    size_t last = out.rows * (slice + 1) / slices;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] < first || rows[i] >= last) continue;
      float* to = out.row(rows[i]);
      const float* from = dy.row(i);
      for (size_t c = 0; c < out.cols; ++c) to[c] += from[c];
    }
  });
}

// A part of dy, as a contribution to one of the joined inputs.
void give_part(Gradient& gradient, ConstMatrixView part) {
  GradientTarget target = gradient.target(part.rows, part.cols);
  target.add ? add(target.out, part) : copy(target.out, part);
}

}  // namespace

// dx[r] = sum of dy[i] over the i with rows[i] = r. Kept for backward: nothing but the list.
Var gather_rows(Tape& tape, const Var& x, std::span<const NodeId> rows) {
  Matrix y(rows.size(), x.cols(), MemoryTag::activations);
  gather(y, x.value(), rows);
  return tape.result(std::move(y), {x},
                     [dx = x.gradient(), count = x.rows(), rows](ConstMatrixView dy) {
                       scatter_add(dx->accumulator(count, dy.cols), dy, rows);
                     });
}

// dx = dy, with zeros below. Kept for backward: nothing.
Var first_rows(Tape& tape, const Var& x, size_t count) {
  require(count <= x.rows(), "first_rows: {} of {} rows", count, x.rows());
  if (count == x.rows()) return x;
  auto part = std::make_shared<const Value>(x.value().block(0, count), x.keep());
  return tape.result(std::move(part), {x},
                     [dx = x.gradient(), rows = x.rows(), count](ConstMatrixView dy) {
                       GradientTarget target = dx->target(rows, dy.cols);
                       MatrixView top = target.out.block(0, count);
                       if (target.add) return add(top, dy);
                       copy(top, dy);
                       fill(target.out.block(count, rows - count), 0.0F);
                     });
}

// da = upper rows of dy, db = lower rows. Kept for backward: nothing.
Var append_rows(Tape& tape, const Var& a, const Var& b) {
  require(a.cols() == b.cols(), "append_rows: {} columns meet {}", a.cols(), b.cols());
  Matrix y(a.rows() + b.rows(), a.cols(), MemoryTag::activations);
  copy(y.view().block(0, a.rows()), a.value());
  copy(y.view().block(a.rows(), b.rows()), b.value());
  return tape.result(std::move(y), {a, b},
                     [da = a.gradient(), db = b.gradient(), above = a.rows()](ConstMatrixView dy) {
                       if (da) give_part(*da, dy.block(0, above));
                       if (db) give_part(*db, dy.block(above, dy.rows - above));
                     });
}

// da = left columns of dy, db = right columns. Kept for backward: nothing.
Var concatenate(Tape& tape, const Var& a, const Var& b) {
  require(a.rows() == b.rows(), "concatenate: {} rows meet {} rows", a.rows(), b.rows());
  Matrix y(a.rows(), a.cols() + b.cols(), MemoryTag::activations);
  copy(y.view().columns(0, a.cols()), a.value());
  copy(y.view().columns(a.cols(), b.cols()), b.value());
  return tape.result(std::move(y), {a, b},
                     [da = a.gradient(), db = b.gradient(), left = a.cols(),
                      right = b.cols()](ConstMatrixView dy) {
                       if (da) give_part(*da, dy.columns(0, left));
                       if (db) give_part(*db, dy.columns(left, right));
                     });
}

}  // namespace spex
