// Operations that do little per number: their limit is the rate at which memory is copied, measured
// in the same run. A rate counts the arrays an operation must read and write, once each.
#include <fmt/core.h>
#include <spex/core/cpu.h>
#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/ops/elementwise.h>
#include <spex/ops/norms.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace spex {
namespace {

using Clock = std::chrono::steady_clock;
using Operation = std::function<Var(Tape&, const Var& x, const Var& other)>;

constexpr int kRounds = 8;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Matrix noise(size_t rows, size_t cols, uint64_t seed) {
  Matrix matrix(rows, cols, MemoryTag::other);
  std::vector<uint32_t> words(matrix.size());
  Random(seed, Purpose::test).fill(words, 0);
  for (size_t i = 0; i < words.size(); ++i)
    matrix.data()[i] = static_cast<float>(static_cast<int32_t>(words[i])) * 0x1p-31F;
  return matrix;
}

Matrix clone(ConstMatrixView from) {
  Matrix matrix(from.rows, from.cols, MemoryTag::other);
  copy(matrix, from);
  return matrix;
}

struct Seconds {
  double forward = std::numeric_limits<double>::infinity();
  double backward = std::numeric_limits<double>::infinity();
};

// The best of several rounds. The gradient that enters is x itself; making it is not counted.
Seconds measure(const Operation& operation, const Matrix& x, const Matrix& other) {
  Seconds best;
  for (int round = 0; round < kRounds; ++round) {
    Tape tape;
    Var in = tape.variable(clone(x)), second = tape.variable(clone(other));
    auto begin = Clock::now();
    Var y = operation(tape, in, second);
    best.forward = std::min(best.forward, seconds_since(begin));
    Var loss = tape.result(Matrix::zeros(1, 1, MemoryTag::other), {y},
                           [&, dy = y.gradient()](ConstMatrixView) {
                             dy->give(clone(x));
                             begin = Clock::now();
                           });
    tape.backward(loss);
    best.backward = std::min(best.backward, seconds_since(begin));
  }
  return best;
}

// The plain x86-64 kernels are the oracle of the vector ones.
void check(const char* what, const Operation& operation, const Matrix& x, const Matrix& other) {
  Isa best = isa();
  auto run = [&] {
    Tape tape;
    return operation(tape, tape.variable(clone(x)), tape.variable(clone(other)));
  };
  Var fast = run();
  set_isa(supported_isas().front());
  Var plain = run();
  set_isa(best);
  for (size_t i = 0; i < x.size(); ++i)
    require(std::abs(fast.value().data[i] - plain.value().data[i]) < 1e-3F,
            "{}: entry {} is {}, the plain kernel says {}", what, i, fast.value().data[i],
            plain.value().data[i]);
}

double copy_rate(const Matrix& x) {
  Matrix to = clone(x);
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    auto begin = Clock::now();
    copy(to, x);
    best = std::min(best, seconds_since(begin));
  }
  return 2e-9 * static_cast<double>(x.size() * sizeof(float)) / best;
}

struct Line {
  const char* name;
  int forward_arrays, backward_arrays;  // read or written
  Operation operation;
};

std::vector<Line> lines(const Matrix& ones, RunningStatistics& running) {
  Random random(1, Purpose::dropout);
  auto row = [&ones](Tape& tape) { return tape.variable(clone(ones)); };
  return {
      {"relu", 2, 3, [](Tape& t, const Var& x, const Var&) { return relu(t, x); }},
      {"add", 3, 2, [](Tape& t, const Var& x, const Var& b) { return add(t, x, b); }},
      {"add_dropped", 3, 2,
       [=](Tape& t, const Var& x, const Var& b) { return add_dropped(t, x, b, 0.3F, random); }},
      {"layer_norm", 2, 3,
       [=](Tape& t, const Var& x, const Var&) { return layer_norm(t, x, row(t), row(t)); }},
      {"batch_norm", 3, 5,
       [=, &running](Tape& t, const Var& x, const Var&) {
         return batch_norm(t, x, row(t), row(t), running, true);
       }},
      {"graph_norm", 3, 5,
       [=](Tape& t, const Var& x, const Var&) { return graph_norm(t, x, row(t), row(t), row(t)); }},
      {"normalize_rows", 2, 3,
       [](Tape& t, const Var& x, const Var&) { return normalize_rows(t, x); }},
  };
}

void run(size_t rows, size_t cols) {
  Matrix x = noise(rows, cols, 1), other = noise(rows, cols, 2);
  Matrix ones(1, cols, MemoryTag::other);
  fill(ones, 1.0F);
  RunningStatistics running;
  double limit = copy_rate(x), gigabytes = 1e-9 * static_cast<double>(x.size() * sizeof(float));
  fmt::print("{} x {}, {} threads, {}; copy {:.1f} GB/s\n", rows, cols, threads(), name(isa()),
             limit);
  for (const Line& line : lines(ones, running)) {
    check(line.name, line.operation, x, other);
    Seconds best = measure(line.operation, x, other);
    double forward = line.forward_arrays * gigabytes / best.forward;
    double backward = line.backward_arrays * gigabytes / best.backward;
    fmt::print(
        "  {:15} forward {:7.2f} ms {:5.1f} GB/s {:4.0f}%   backward {:7.2f} ms {:5.1f} GB/s "
        "{:4.0f}%\n",
        line.name, 1e3 * best.forward, forward, 100 * forward / limit, 1e3 * best.backward,
        backward, 100 * backward / limit);
  }
}

}  // namespace
}  // namespace spex

int main() {
  spex::run(2'400'000, 8);
  spex::run(100'000, 128);
}
