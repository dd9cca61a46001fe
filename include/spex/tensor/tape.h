// The gradient tape. An operation computes its result and records how to undo itself:
//
//   Var scale(Tape& tape, const Var& x, float factor) {
//     Matrix y = ...;
//     return tape.result(std::move(y), {x}, [dx = x.gradient(), factor](ConstMatrixView dy) {
//       add_scaled(dx->target(dy.rows, dy.cols), dy, factor);
//     });
//   }
//
// A value lives as long as somebody holds it: a Var, or a recorded operation that said, by
// capturing x.keep(), that its backward needs it. backward() runs the records in reverse, once, and
// drops each together with its output's gradient, so every buffer is freed at the moment of its
// last use.
#pragma once

#include <spex/tensor/matrix.h>

#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

namespace spex {

struct Parameter;

// Where the contributions to one gradient are written. The first one overwrites, later ones add.
struct GradientTarget {
  MatrixView out;
  bool add = false;
};

class Gradient {
 public:
  Gradient() = default;
  explicit Gradient(MatrixView external) : external_(external) {}

  GradientTarget target(size_t rows, size_t cols);
  MatrixView accumulator(size_t rows,
                         size_t cols);  // zeroed at first: for small gradients, to add to
  void give(Matrix part);               // a whole contribution whose buffer may be taken over
  bool filled() const { return filled_; }
  ConstMatrixView view() const { return external_.data ? external_ : matrix_.view(); }
  Matrix take();  // the gradient itself, for the operation that made the value

 private:
  Matrix matrix_;
  MatrixView external_;  // a parameter's own gradient, always added to
  bool filled_ = false;
};

class Value {
 public:
  explicit Value(Matrix matrix) : matrix_(std::move(matrix)), view_(matrix_.view()) {}
  explicit Value(ConstMatrixView view) : view_(view) {}
  // A part of another value, which it keeps alive.
  Value(ConstMatrixView part, std::shared_ptr<const Value> whole)
      : view_(part), whole_(std::move(whole)) {}
  ConstMatrixView view() const { return view_; }

 private:
  friend class Tape;
  Matrix matrix_;
  ConstMatrixView view_;
  std::shared_ptr<const Value> whole_;
};

class Var {
 public:
  Var() = default;
  Var(std::shared_ptr<const Value> value, std::shared_ptr<Gradient> gradient)
      : value_(std::move(value)), gradient_(std::move(gradient)) {}

  explicit operator bool() const { return value_ != nullptr; }  // an empty Var stands for "none"
  ConstMatrixView value() const { return value_ ? value_->view() : ConstMatrixView{}; }
  size_t rows() const { return value().rows; }
  size_t cols() const { return value().cols; }
  std::shared_ptr<const Value> keep() const { return value_; }             // for use in backward
  const std::shared_ptr<Gradient>& gradient() const { return gradient_; }  // null: none is wanted

 private:
  friend class Tape;
  std::shared_ptr<const Value> value_;
  std::shared_ptr<Gradient> gradient_;
};

class Tape {
 public:
  using Backward = std::function<void(ConstMatrixView dy)>;
  using OwningBackward = std::function<void(Matrix dy)>;  // for operations that pass dy on

  // A tape that does not record keeps nothing: for evaluation.
  explicit Tape(bool recording = true) : recording_(recording) {}

  bool recording() const { return recording_; }
  Var constant(ConstMatrixView values) const;  // the caller keeps the values alive
  Var constant(Matrix values) const;
  Var variable(Matrix values) const;  // an input whose gradient can be read after backward
  Var parameter(Parameter& parameter) const;

  // The result of an operation on `inputs`. The gradients of inputs that want none are null:
  // backward must check those that may be. An operation whose backward needs its own output makes
  // the shared value first and captures it.
  using SharedValue = std::shared_ptr<const Value>;
  static SharedValue share(Matrix value) { return std::make_shared<Value>(std::move(value)); }

  // What an operation may write a result of x's shape to, number by number: the buffer of x, if
  // that is the only one who holds it (an operation that takes x by value was handed it over), else a
  // new one. x can be read as before until the result is written.
  static Matrix buffer_of(const Var& x);

  Var result(SharedValue value, std::initializer_list<Var> inputs, Backward backward);
  Var result_owning(SharedValue value, std::initializer_list<Var> inputs, OwningBackward backward);
  Var result(Matrix value, std::initializer_list<Var> inputs, Backward backward) {
    return result(share(std::move(value)), inputs, std::move(backward));
  }

  // Runs all records in reverse with d(loss) = 1. The loss must be 1 x 1.
  void backward(const Var& loss);
  // The same from any result, whose gradient is given and whose value is not needed any more.
  void backward(Var result, Matrix gradient);

 private:
  struct Record {
    std::shared_ptr<Gradient> output;
    OwningBackward backward;
  };
  bool recording_;
  std::vector<Record> records_;
};

}  // namespace spex
