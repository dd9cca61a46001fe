// With S = diag(row scale) and C = diag(column scale): y = S A C x, hence dx = C At S dy. Row i of
// the transpose lists who counts i among its neighbours, so each row of dx is one thread's own.
#include <spex/core/threads.h>
#include <spex/ops/spmm.h>

#include <algorithm>
#include <cmath>

#include "ops/checks.h"
#include "ops/sparse_kernels.h"

namespace spex {
namespace {

size_t block_rows(size_t cols) {
  return std::clamp<size_t>(16384 / cols, 16, 512);
}

// 1 / degree or 1 / sqrt(degree); 0 for a node without neighbours.
Buffer<float> scales(const CsrGraph& graph, bool root) {
  Buffer<float> scale(graph.nodes(), MemoryTag::graph);
  parallel_for(graph.nodes(), 16384, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      float degree = static_cast<float>(graph.degree(i));
      scale[i] = degree == 0.0F ? 0.0F : 1.0F / (root ? std::sqrt(degree) : degree);
    }
  });
  return scale;
}

void product(GradientTarget y, const SparseRows& a, ConstMatrixView x) {
  parallel_for(a.rows, block_rows(x.cols), [&](size_t begin, size_t end) {
    SPEX_CALL(sparse_product, y.out.data, a, x.data, x.cols, begin, end, y.add);
  });
}

SparseRows rows_of(const CsrGraph& graph) {
  SparseRows rows;
  rows.offsets = graph.offsets.data();
  rows.columns = graph.neighbours.data();
  rows.rows = graph.nodes();
  return rows;
}

}  // namespace

// Kept for backward: one number per node, unless there is no normalisation.
Var spmm(Tape& tape, const CsrGraph& graph, const Var& x, Normalisation normalisation,
         const CsrGraph* transposed) {
  require(x.rows() == graph.nodes(), "spmm: {} rows for a graph of {} nodes", x.rows(),
          graph.nodes());
  require(x.cols() > 0, "spmm: a matrix of no columns");
  require_packed(x.value(), "spmm");
  const CsrGraph* back = graph.symmetric ? &graph : transposed;
  require(back || !tape.recording() || !x.gradient(),
          "spmm: the graph is directed; pass its transpose for the gradient");
  SparseRows forward = rows_of(graph);
  std::shared_ptr<Buffer<float>> scale;
  if (normalisation != Normalisation::none) {
    scale =
        std::make_shared<Buffer<float>>(scales(graph, normalisation == Normalisation::symmetric));
    forward.row_scale = scale->data();
    if (normalisation == Normalisation::symmetric) forward.column_scale = scale->data();
  }
  Matrix y(x.rows(), x.cols(), MemoryTag::activations);
  product({y, false}, forward, x.value());
  return tape.result(std::move(y), {x},
                     [back, scale, normalisation, dx = x.gradient()](ConstMatrixView dy) {
                       SparseRows rows = rows_of(*back);
                       if (scale) rows.column_scale = scale->data();
                       if (normalisation == Normalisation::symmetric)
                         rows.row_scale = scale->data();
                       product(dx->target(dy.rows, dy.cols), rows, dy);
                     });
}

}  // namespace spex
