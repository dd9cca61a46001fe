// The same work on every instruction set the machine has, side by side.
#pragma once

#include <spex/core/cpu.h>
#include <spex/tensor/tape.h>

#include "machine.h"

namespace spex::bench {

struct Seconds {
  double forward = 0, backward = 0;
};

// An operation and its gradients, timed apart. The gradient that enters is ones.
template <class Operation>
Seconds time_operation(Tape& tape, Operation&& operation) {
  double start = seconds_used();
  Var out = operation();
  Seconds seconds;
  seconds.forward = seconds_used() - start;
  Matrix ones(out.rows(), out.cols(), MemoryTag::gradients);
  fill(ones, 1.0F);
  Var loss =
      tape.result(Matrix::zeros(1, 1, MemoryTag::other), {out},
                  [&, dout = out.gradient()](ConstMatrixView) { dout->give(std::move(ones)); });
  start = seconds_used();
  tape.backward(loss);
  seconds.backward = seconds_used() - start;
  return seconds;
}

struct SideBySide {
  std::vector<Seconds> isas;  // as supported_isas()
  double limit = 0;           // seconds of what they are compared with
};

// Medians of several rounds. The instruction sets and the limit take turns, so that a disturbance
// meets them all; `check` runs once on each instruction set.
inline SideBySide side_by_side(int rounds, const std::function<void()>& check,
                               const std::function<Seconds()>& work,
                               const std::function<double()>& limit) {
  std::vector<Isa> isas = supported_isas();
  std::vector<std::vector<double>> forward(isas.size()), backward(isas.size());
  std::vector<double> limits;
  for (int round = 0; round <= rounds; ++round) {
    for (size_t i = 0; i < isas.size(); ++i) {
      set_isa(isas[i]);
      if (round == 0) check();
      Seconds seconds = work();
      if (round == 0) continue;
      forward[i].push_back(seconds.forward);
      backward[i].push_back(seconds.backward);
    }
    limits.push_back(limit());
  }
  SideBySide all;
  for (size_t i = 0; i < isas.size(); ++i)
    all.isas.push_back({median(forward[i]), median(backward[i])});
  all.limit = median(limits);
  return all;
}

inline Matrix clone(const Matrix& from) {
  Matrix to(from.rows(), from.cols(), MemoryTag::other);
  copy(to, from);
  return to;
}

}  // namespace spex::bench
