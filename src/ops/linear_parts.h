// What operations with matrix products share. Work is cut into blocks of rows that stay in the
// cache between the product and what follows it.
#pragma once

#include <spex/core/threads.h>
#include <spex/tensor/tape.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace spex {

// Throws unless the shapes fit: a weight of `inputs` rows, a bias (or none) of as many columns.
void check_linear(size_t inputs, const Var& weight, const Var& bias);

// About 256 KiB of the wider side: the block of x and of y both fit the second-level cache. A
// multiple of 8: a random number of dropout serves 8 places.
size_t block_rows(size_t inputs, size_t outputs);

// `bias` may be null.
void add_bias(MatrixView y, const float* bias);
inline const float* data_of(const Var& bias) {
  return bias ? bias.value().data : nullptr;
}

// Rows cut into at most 16 slices of whole blocks. What each slice sums on its own is added in
// order, so the number of threads does not show in the result.
struct Slices {
  size_t rows, block, blocks, count;
  Slices(size_t rows, size_t block);

  // Calls body(slice, first row, number of rows) for every block, the blocks of a slice in order.
  template <class Body>
  void for_blocks(Body&& body) const {
    parallel_blocks(count, [&](size_t slice) {
      for (size_t b = blocks * slice / count; b < blocks * (slice + 1) / count; ++b)
        body(slice, b * block, std::min(rows - b * block, block));
    });
  }
};

// The gradients of a weight and of its bias: dW = xt dy, db = column sums of dy. Either may be
// unwanted.
class WeightGradients {
 public:
  WeightGradients(const Slices& slices, const Value& weight, std::shared_ptr<Gradient> dw,
                  std::shared_ptr<Gradient> db);
  void add(size_t slice, ConstMatrixView x, ConstMatrixView dy);
  void finish();

 private:
  size_t rows_, cols_, slices_;
  std::shared_ptr<Gradient> dw_, db_;
  Matrix dw_parts_, db_parts_;
  std::vector<char> begun_;  // by slice
};

}  // namespace spex
