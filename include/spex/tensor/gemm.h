// Dense matrix products through oneDNN, on all threads (or on the calling one inside a parallel
// loop).
#pragma once

#include <spex/tensor/matrix.h>

namespace spex {

enum class Transpose { no, yes };

// out = op(a) op(b) + beta out.
void gemm(MatrixView out, ConstMatrixView a, Transpose transpose_a, ConstMatrixView b,
          Transpose transpose_b, float beta = 0.0F);

}  // namespace spex
