// What operations ask of their inputs.
#pragma once

#include <spex/core/error.h>
#include <spex/tensor/tape.h>

namespace spex {

// Kernels that run over a matrix as one flat array need its rows without gaps.
inline void require_packed(ConstMatrixView x, const char* what) {
  require(x.stride == x.cols || x.rows <= 1, "{}: rows of {} numbers stand {} apart; pass a copy",
          what, x.cols, x.stride);
}

inline void require_same_shape(const Var& a, const Var& b, const char* what) {
  require(a.rows() == b.rows() && a.cols() == b.cols(), "{}: {} x {} meets {} x {}", what, a.rows(),
          a.cols(), b.rows(), b.cols());
}

inline void require_shape(const Var& x, size_t rows, size_t cols, const char* what) {
  require(x.rows() == rows && x.cols() == cols, "{}: expected {} x {}, got {} x {}", what, rows,
          cols, x.rows(), x.cols());
}

}  // namespace spex
