// Checks an operation against a plain double-precision program: its result directly, its gradients
// against derivatives of that program taken in double precision (exact to about nine digits).
//
//   expect_matches(matrices(random_matrix(5, 3, 1)),
//                  [](Tape& tape, std::vector<Var>& in) { return relu(tape, in[0]); },
//                  [](const Doubles& in) { ... return y; });
#pragma once

#include <spex/core/cpu.h>
#include <spex/core/threads.h>

#include <numeric>

#include "gradient_check.h"

namespace spex::testing_support {

using Doubles = std::vector<std::vector<double>>;  // one flat array per input
using DoubleProgram = std::function<std::vector<double>(const Doubles&)>;

// d(loss) / d(entry), for the loss of linear_form: `weights` times the result.
inline double derivative(const DoubleProgram& program, const std::vector<double>& weights,
                         Doubles& in, size_t input, size_t entry) {
  constexpr double kStep = 1e-5;
  auto loss = [&] {
    std::vector<double> y = program(in);
    return std::inner_product(y.begin(), y.end(), weights.begin(), 0.0);
  };
  double original = in[input][entry];
  in[input][entry] = original + kStep;
  double above = loss();
  in[input][entry] = original - kStep;
  double below = loss();
  in[input][entry] = original;
  return (above - below) / (2 * kStep);
}

// Differences are measured against the largest number of the same array, and at least 1. Of large
// inputs about `samples` entries are checked.
inline void expect_matches(std::vector<Matrix> inputs, const Operation& operation,
                           const DoubleProgram& program, double tolerance = 2e-5,
                           size_t samples = 24) {
  Tape tape;
  std::vector<Var> vars;
  Doubles in;
  for (Matrix& input : inputs) {
    vars.push_back(tape.variable(clone(input)));
    in.emplace_back(input.span().begin(), input.span().end());
  }
  Var y = operation(tape, vars);
  std::vector<double> expected = program(in);
  ASSERT_EQ(y.value().size(), expected.size());
  double scale = 1;
  for (double value : expected) scale = std::max(scale, std::abs(value));
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(y.value().data[i], expected[i], tolerance * scale) << "result, entry " << i;
  tape.backward(linear_form(tape, y));
  Random random(99, Purpose::test, 1);  // as in linear_form
  std::vector<double> weights(expected.size());
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = random.normal(i);
  for (size_t v = 0; v < inputs.size(); ++v) {
    ASSERT_TRUE(vars[v].gradient()->filled()) << "input " << v << " got no gradient";
    ConstMatrixView gradient = vars[v].gradient()->view();
    scale = 1;
    for (size_t i = 0; i < gradient.size(); ++i)
      scale = std::max(scale, std::abs(double{gradient.data[i]}));
    size_t stride = std::max<size_t>(1, gradient.size() / samples);
    for (size_t i = 0; i < gradient.size(); i += stride)
      ASSERT_NEAR(gradient.data[i], derivative(program, weights, in, v, i), tolerance * scale)
          << "gradient of input " << v << ", entry " << i;
  }
}

// All numbers an operation makes: the result, then the gradients of the inputs.
inline std::vector<float> bytes_of(const std::vector<Matrix>& inputs, const Operation& operation) {
  Tape tape;
  std::vector<Var> vars;
  for (const Matrix& input : inputs) vars.push_back(tape.variable(clone(input)));
  Var y = operation(tape, vars);
  std::vector<float> all(y.value().data, y.value().data + y.value().size());
  tape.backward(linear_form(tape, y));
  for (Var& var : vars) {
    ConstMatrixView gradient = var.gradient()->view();
    all.insert(all.end(), gradient.data, gradient.data + gradient.size());
  }
  return all;
}

inline void expect_same_bytes_for_any_thread_count(const std::vector<Matrix>& inputs,
                                                   const Operation& operation) {
  int before = threads();
  set_threads(1);
  std::vector<float> one = bytes_of(inputs, operation);
  for (int count : {2, 3}) {
    set_threads(count);
    EXPECT_TRUE(bytes_of(inputs, operation) == one) << count << " threads";
  }
  set_threads(before);
}

// Calls body with each instruction set this CPU has.
template <class Body>
void on_every_isa(Body&& body) {
  Isa before = isa();
  for (Isa each : supported_isas()) {
    SCOPED_TRACE(std::string(name(each)));
    set_isa(each);
    body();
  }
  set_isa(before);
}

inline constexpr size_t kWidths[] = {1, 2, 3, 4, 8, 17, 32, 56, 128, 300};

}  // namespace spex::testing_support
