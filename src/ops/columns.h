// Column-wise statistics and maps of a packed N x C matrix, at the speed of memory for any width.
// The matrix is read as one flat array in tiles: as many rows as make whole vectors, with the
// per-column numbers repeated to match. Sums run in float within fixed blocks of rows and in double
// across them, in order: the same bytes for any number of threads.
#pragma once

#include <spex/tensor/matrix.h>

#include <span>
#include <vector>

namespace spex {

std::vector<double> column_sums(ConstMatrixView x);

struct ColumnMoments {
  std::vector<double> mean, variance;  // variance biased
};
ColumnMoments column_moments(ConstMatrixView x);

struct ColumnDots {
  std::vector<double> sum, dot;  // of dy, and of dy (x - center)
};
ColumnDots column_dots(ConstMatrixView dy, ConstMatrixView x, std::span<const float> center);

// y = factor (x - center) + shift
struct ColumnMap {
  std::vector<float> center, factor, shift;
};
void apply(MatrixView y, ConstMatrixView x, const ColumnMap& map);

// dy <- p dy + q (x - center) + r
struct ColumnBackward {
  std::vector<float> p, q, r;
};
void apply(MatrixView dy, ConstMatrixView x, std::span<const float> center,
           const ColumnBackward& map);

}  // namespace spex
