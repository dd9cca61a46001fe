#include "ops/columns.h"

#include <spex/core/threads.h>

#include <algorithm>
#include <numeric>

#include "ops/column_kernels.h"

namespace spex {
namespace {

// How an N x C matrix is cut: into tiles of some rows, and blocks of some tiles.
struct Tiling {
  size_t cols;
  size_t tile;   // numbers per tile
  size_t block;  // numbers per block

  explicit Tiling(size_t cols) : cols(cols) {
    // Whole vectors of 16, and enough of them that consecutive tiles do not wait for each other.
    size_t rows = cols >= 256 ? 1 : 16 / std::gcd(cols, size_t{16});
    while (rows * cols < 128) rows *= 2;
    tile = rows * cols;
    block = std::max<size_t>(1, 32768 / tile) * tile;
  }

  // The numbers of one row, repeated to fill a tile.
  template <class T>
  std::vector<float> spread(const T& row) const {
    std::vector<float> result(tile);
    for (size_t j = 0; j < tile; ++j) result[j] = static_cast<float>(row[j % cols]);
    return result;
  }
};

using Sums = std::vector<double>;

// Sums of S quantities per column. kernel(sums, begin, count) adds the numbers [begin, begin +
// count) to S tiles of floats that stand one after another.
template <size_t S, class Kernel>
Sums reduce(size_t size, const Tiling& tiling, Kernel&& kernel) {
  size_t width = S * tiling.cols;
  Sums parts((size + tiling.block - 1) / tiling.block * width, 0.0);
  parallel_for(size, tiling.block, [&](size_t begin, size_t end) {
    std::vector<float> sums(S * tiling.tile, 0.0F);
    kernel(sums.data(), begin, end - begin);
    double* part = parts.data() + begin / tiling.block * width;
    for (size_t s = 0; s < S; ++s)
      for (size_t j = 0; j < tiling.tile; ++j)
        part[s * tiling.cols + j % tiling.cols] += sums[s * tiling.tile + j];
  });
  Sums total(width, 0.0);
  for (size_t i = 0; i < parts.size(); ++i) total[i % width] += parts[i];
  return total;
}

// The average of rows spread evenly over the matrix: close enough to the mean that squares of
// distances to it lose no precision.
std::vector<double> rough_mean(ConstMatrixView x) {
  size_t count = std::min<size_t>(x.rows, 256);
  std::vector<double> mean(x.cols, 0.0);
  for (size_t i = 0; i < count; ++i)
    for (size_t c = 0; c < x.cols; ++c)
      mean[c] += x(x.rows * i / count, c) / static_cast<double>(count);
  return mean;
}

}  // namespace

std::vector<double> column_sums(ConstMatrixView x) {
  Tiling tiling(x.cols);
  return reduce<1>(x.size(), tiling, [&](float* sums, size_t begin, size_t count) {
    SPEX_CALL(tile_sums, sums, x.data + begin, count, tiling.tile);
  });
}

// With d = x - center: mean = center + mean(d), variance = mean(d^2) - mean(d)^2.
ColumnMoments column_moments(ConstMatrixView x) {
  Tiling tiling(x.cols);
  std::vector<float> center = tiling.spread(rough_mean(x));
  Sums sums = reduce<2>(x.size(), tiling, [&](float* sums, size_t begin, size_t count) {
    SPEX_CALL(tile_moments, sums, sums + tiling.tile, x.data + begin, center.data(), count,
              tiling.tile);
  });
  ColumnMoments result;
  double n = static_cast<double>(std::max<size_t>(1, x.rows));
  for (size_t c = 0; c < x.cols; ++c) {
    double d = sums[c] / n;
    result.mean.push_back(center[c] + d);
    result.variance.push_back(std::max(0.0, sums[x.cols + c] / n - d * d));
  }
  return result;
}

ColumnDots column_dots(ConstMatrixView dy, ConstMatrixView x, std::span<const float> center) {
  Tiling tiling(x.cols);
  std::vector<float> centers = tiling.spread(center);
  Sums sums = reduce<2>(x.size(), tiling, [&](float* sums, size_t begin, size_t count) {
    SPEX_CALL(tile_dots, sums, sums + tiling.tile, dy.data + begin, x.data + begin, centers.data(),
              count, tiling.tile);
  });
  auto middle = sums.begin() + static_cast<ptrdiff_t>(x.cols);
  return {{sums.begin(), middle}, {middle, sums.end()}};
}

void apply(MatrixView y, ConstMatrixView x, const ColumnMap& map) {
  Tiling tiling(x.cols);
  auto center = tiling.spread(map.center), factor = tiling.spread(map.factor),
       shift = tiling.spread(map.shift);
  parallel_for(x.size(), tiling.block, [&](size_t begin, size_t end) {
    SPEX_CALL(tile_map, y.data + begin, x.data + begin, center.data(), factor.data(), shift.data(),
              end - begin, tiling.tile);
  });
}

void apply(MatrixView dy, ConstMatrixView x, std::span<const float> center,
           const ColumnBackward& map) {
  Tiling tiling(x.cols);
  auto centers = tiling.spread(center), p = tiling.spread(map.p), q = tiling.spread(map.q),
       r = tiling.spread(map.r);
  parallel_for(x.size(), tiling.block, [&](size_t begin, size_t end) {
    SPEX_CALL(tile_backward, dy.data + begin, x.data + begin, centers.data(), p.data(), q.data(),
              r.data(), end - begin, tiling.tile);
  });
}

}  // namespace spex
