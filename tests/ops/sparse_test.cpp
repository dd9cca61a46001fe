// Sparse features times a weight.
#include <spex/core/error.h>
#include <spex/ops/linear.h>

#include "double_reference.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

template <class T>
SharedArray<T> shared(const std::vector<T>& values) {
  Buffer<T> buffer(values.size(), MemoryTag::other);
  std::copy(values.begin(), values.end(), buffer.begin());
  return buffer;
}

// Random entries with the given density; row 0 is full, row 1 (if any) is empty.
SparseMatrix random_sparse(size_t rows, size_t cols, double density) {
  Random random(8, Purpose::test);
  std::vector<uint64_t> offsets = {0};
  std::vector<uint32_t> columns;
  std::vector<float> values;
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < cols; ++c)
      if (r == 0 || (r != 1 && random.uniform(r * cols + c) < density)) {
        columns.push_back(static_cast<uint32_t>(c));
        values.push_back(static_cast<float>(random.normal(1000000 + columns.size())));
      }
    offsets.push_back(columns.size());
  }
  return {rows, cols, shared(offsets), shared(columns), shared(values)};
}

DoubleProgram sparse_linear_program(const SparseMatrix& x, size_t out) {
  return [&x, out](const Doubles& in) {
    std::vector<double> y(x.rows * out);
    for (size_t r = 0; r < x.rows; ++r)
      for (size_t o = 0; o < out; ++o) {
        double sum = in[1][o];
        for (size_t e = x.offsets[r]; e < x.offsets[r + 1]; ++e)
          sum += x.values[e] * in[0][x.columns[e] * out + o];
        y[r * out + o] = sum;
      }
    return y;
  };
}

TEST(SparseLinear, MatchesDoublePrecisionForwardAndBackward) {
  for (size_t rows : {1, 90})
    for (size_t out : kWidths) {
      SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(out) + " outputs");
      SparseMatrix x = random_sparse(rows, 41, 0.1);
      on_every_isa([&] {
        expect_matches(
            matrices(random_matrix(41, out, 1), random_matrix(1, out, 2)),
            [&](Tape& tape, std::vector<Var>& in) { return linear(tape, x, in[0], in[1]); },
            sparse_linear_program(x, out));
      });
    }
}

TEST(SparseLinear, SameBytesForAnyThreadCount) {
  SparseMatrix x = random_sparse(5000, 300, 0.02);
  expect_same_bytes_for_any_thread_count(
      matrices(random_matrix(300, 20, 1), random_matrix(1, 20, 2)),
      [&](Tape& tape, std::vector<Var>& in) { return linear(tape, x, in[0], in[1]); });
}

TEST(SparseLinear, WorksWithoutBiasAndRejectsAWeightOfAnotherHeight) {
  SparseMatrix x = random_sparse(6, 5, 0.5);
  check_gradients(matrices(random_matrix(5, 3, 1)),
                  [&](Tape& tape, std::vector<Var>& in) { return linear(tape, x, in[0]); });
  Tape tape;
  EXPECT_THROW(linear(tape, x, tape.variable(random_matrix(4, 3, 1))), Error);
}

}  // namespace
}  // namespace spex
