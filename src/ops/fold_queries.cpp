// F_t = S_t W_k^T with S_t = factor W_q diag(E_t). Small: width x width for each edge type.
#include <spex/core/threads.h>
#include <spex/ops/attention.h>
#include <spex/tensor/gemm.h>

#include "ops/checks.h"

namespace spex {
namespace {

Matrix scaled_columns(ConstMatrixView in, const float* by, float factor) {
  Matrix out(in.rows, in.cols, MemoryTag::activations);
  for (size_t r = 0; r < in.rows; ++r)
    for (size_t c = 0; c < in.cols; ++c) out(r, c) = factor * by[c] * in(r, c);
  return out;
}

}  // namespace

// dS_t = dF_t W_k; dW_q += factor dS_t diag(E_t), dE_t += factor column sums of dS_t * W_q,
// dW_k += dF_t^T S_t. Kept for backward: the three inputs.
Var fold_queries(Tape& tape, const Var& q_weight, const Var& k_weight, const Var& modulation,
                 float factor) {
  require(q_weight.cols() == k_weight.cols() && modulation.cols() == q_weight.cols(),
          "fold: weights of width {} and {}, a modulation of {}", q_weight.cols(), k_weight.cols(),
          modulation.cols());
  size_t types = modulation.rows(), keys = k_weight.rows();
  Matrix out(q_weight.rows(), types * keys, MemoryTag::activations);
  parallel_blocks(types, [&](size_t t) {
    gemm(out.view().columns(t * keys, keys),
         scaled_columns(q_weight.value(), modulation.value().row(t), factor), Transpose::no,
         k_weight.value(), Transpose::yes);
  });
  return tape.result(
      std::move(out), {q_weight, k_weight, modulation},
      [q = q_weight.keep(), k = k_weight.keep(), e = modulation.keep(), dq = q_weight.gradient(),
       dk = k_weight.gradient(), de = modulation.gradient(), factor](ConstMatrixView df) {
        ConstMatrixView wq = q->view(), wk = k->view(), mod = e->view();
        Matrix ds(wq.rows, wq.cols, MemoryTag::gradients);
        for (size_t t = 0; t < mod.rows; ++t) {
          ConstMatrixView part = df.columns(t * wk.rows, wk.rows);
          gemm(ds, part, Transpose::no, wk, Transpose::no);
          if (dq) add(dq->accumulator(wq.rows, wq.cols), scaled_columns(ds, mod.row(t), factor));
          if (dk)
            gemm(dk->accumulator(wk.rows, wk.cols), part, Transpose::yes,
                 scaled_columns(wq, mod.row(t), factor), Transpose::no, 1.0F);
          if (!de) continue;
          MatrixView sums = de->accumulator(mod.rows, mod.cols);
          for (size_t r = 0; r < wq.rows; ++r)
            for (size_t c = 0; c < wq.cols; ++c) sums(t, c) += factor * ds(r, c) * wq(r, c);
        }
      });
}

}  // namespace spex
