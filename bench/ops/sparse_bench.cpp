// Sparse features times weights, on every instruction set the
// machine has, against the rate at which it reads random rows of that width: a non-zero reads one
// row of W in forward, and one row of dW, which it also writes, in backward.
#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/ops/linear.h>

#include <cmath>

#include "instruction_sets.h"

namespace spex {
namespace {

constexpr size_t kRows = 20'000, kColumns = 1'000, kPerRow = 32;

// Columns ascend within a row: a random one of each thirty-second of them.
SparseMatrix random_features() {
  SparseMatrix x;
  x.rows = kRows;
  x.cols = kColumns;
  Buffer<uint64_t> offsets(kRows + 1, MemoryTag::features);
  Buffer<uint32_t> columns(kRows * kPerRow, MemoryTag::features);
  Buffer<float> values(kRows * kPerRow, MemoryTag::features);
  Random random(1, Purpose::test);
  for (size_t i = 0; i <= kRows; ++i) offsets[i] = i * kPerRow;
  for (size_t e = 0; e < columns.size(); ++e) {
    size_t part = e % kPerRow, first = part * kColumns / kPerRow;
    size_t room = (part + 1) * kColumns / kPerRow - first;
    columns[e] = static_cast<uint32_t>(first + random.below(room, 2 * e));
    values[e] = static_cast<float>(random.uniform(2 * e + 1));
  }
  x.offsets = std::move(offsets);
  x.columns = std::move(columns);
  x.values = std::move(values);
  return x;
}

void check(const SparseMatrix& x, const Matrix& w) {
  Tape tape(false);
  Var y = linear(tape, x, tape.constant(w.view()));
  for (size_t row : {size_t{0}, kRows - 1})
    for (size_t c = 0; c < w.cols(); ++c) {
      double sum = 0;
      for (uint64_t e = x.offsets[row]; e < x.offsets[row + 1]; ++e)
        sum += double{x.values[e]} * w(x.columns[e], c);
      require(std::abs(sum - y.value()(row, c)) < 1e-4, "wrong product in row {}", row);
    }
}

void print_width(const SparseMatrix& x, size_t width) {
  Matrix w = bench::noise(kColumns, width, 2);
  bench::SideBySide all = bench::side_by_side(
      9, [&] { check(x, w); },
      [&] {
        Tape tape;
        Var weight = tape.variable(bench::clone(w));
        return bench::time_operation(tape, [&] { return linear(tape, x, weight); });
      },
      [&] { return bench::seconds_of_random_rows(w, x.columns.data(), x.nonzeros()); });
  auto count = static_cast<double>(x.nonzeros());
  fmt::print("width {:>3}", width);
  for (const bench::Seconds& seconds : all.isas)
    fmt::print(" |{:5.0f} /{:4.0f} {:4.0f}% /{:3.0f}%", 1e-6 * count / seconds.forward,
               1e-6 * count / seconds.backward, 100 * all.limit / seconds.forward,
               100 * all.limit / seconds.backward);
  fmt::print(" |{:6.0f}\n", 1e-6 * count / all.limit);
}

void print_table(const char* title) {
  fmt::print(
      "\n{}, {} x {} with {} a row: M non-zeros/s forward / backward, and their shares of "
      "the random-row limit\n{:<10}",
      title, kRows, kColumns, kPerRow, "");
  for (Isa isa : supported_isas()) fmt::print("| {:<21}", name(isa));
  fmt::print("| M rows/s\n");
  SparseMatrix x = random_features();
  for (size_t width : {16, 32, 64, 128}) print_width(x, width);
}

}  // namespace
}  // namespace spex

int main() {
  spex::set_threads(1);
  spex::print_table("one thread");
  spex::set_threads(0);
  spex::print_table("all threads");
}
