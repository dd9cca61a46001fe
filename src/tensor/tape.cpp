#include <spex/core/error.h>
#include <spex/tensor/parameters.h>
#include <spex/tensor/tape.h>

#include <algorithm>

namespace spex {

GradientTarget Gradient::target(size_t rows, size_t cols) {
  if (external_.data) return {external_, true};
  if (!filled_) matrix_ = Matrix(rows, cols, MemoryTag::gradients);
  return {matrix_, std::exchange(filled_, true)};
}

MatrixView Gradient::accumulator(size_t rows, size_t cols) {
  GradientTarget target = this->target(rows, cols);
  if (!target.add) fill(target.out, 0.0F);
  return target.out;
}

void Gradient::give(Matrix part) {
  if (external_.data) {
    add(external_, part);
  } else if (filled_) {
    add(matrix_, part);
  } else {
    matrix_ = std::move(part);
    filled_ = true;
  }
}

Matrix Gradient::take() {
  filled_ = false;
  return std::move(matrix_);
}

Var Tape::constant(ConstMatrixView values) const {
  return {std::make_shared<Value>(values), nullptr};
}

Var Tape::constant(Matrix values) const {
  return {std::make_shared<Value>(std::move(values)), nullptr};
}

Var Tape::variable(Matrix values) const {
  return {std::make_shared<Value>(std::move(values)),
          recording_ ? std::make_shared<Gradient>() : nullptr};
}

Var Tape::parameter(Parameter& parameter) const {
  return {std::make_shared<Value>(std::as_const(parameter.value).view()),
          recording_ ? std::make_shared<Gradient>(parameter.gradient.view()) : nullptr};
}

Matrix Tape::buffer_of(const Var& x) {
  bool sole = x.value_.use_count() == 1 && x.value_->matrix_.size() == x.value().size();
  if (sole && x.value().size() > 0) return std::move(const_cast<Value&>(*x.value_).matrix_);
  return Matrix(x.rows(), x.cols(), MemoryTag::activations);
}

Var Tape::result(SharedValue value, std::initializer_list<Var> inputs, Backward backward) {
  return result_owning(std::move(value), inputs,
                       [backward = std::move(backward)](Matrix dy) { backward(dy.view()); });
}

Var Tape::result_owning(SharedValue value, std::initializer_list<Var> inputs,
                        OwningBackward backward) {
  bool wanted = recording_ && std::any_of(inputs.begin(), inputs.end(), [](const Var& input) {
                  return input.gradient() != nullptr;
                });
  if (!wanted) return {std::move(value), nullptr};
  auto gradient = std::make_shared<Gradient>();
  records_.push_back({gradient, std::move(backward)});
  return {std::move(value), std::move(gradient)};
}

void Tape::backward(const Var& loss) {
  require(loss.rows() == 1 && loss.cols() == 1, "backward needs a loss of 1 x 1, not {} x {}",
          loss.rows(), loss.cols());
  Matrix one(1, 1, MemoryTag::gradients);
  one(0, 0) = 1.0F;
  backward(loss, std::move(one));
}

void Tape::backward(Var result, Matrix gradient) {
  if (!result.gradient()) return;
  result.gradient()->give(std::move(gradient));
  result = {};
  while (!records_.empty()) {
    Record record = std::move(records_.back());
    records_.pop_back();
    if (record.output->filled()) record.backward(record.output->take());
  }
}

}  // namespace spex
