// Dense matrix products through oneDNN, on the calling thread: operations share out their rows.
#pragma once

#include <spex/tensor/matrix.h>

namespace spex {

enum class Transpose { no, yes };

// out = op(a) op(b) + beta out.
void gemm(MatrixView out, ConstMatrixView a, Transpose transpose_a, ConstMatrixView b,
          Transpose transpose_b, float beta = 0.0F);

}  // namespace spex
