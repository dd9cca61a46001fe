#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/train/optimizer.h>

#include <cmath>

namespace spex {
namespace {

constexpr size_t kBlock = 16384;  // numbers per parallel block

// What is the same for all numbers in one step.
struct StepFactors {
  float decay;          // 1 - rate * weight_decay, if decoupled
  float l2;             // weight_decay, if in the gradient
  float beta1, fresh1;  // fresh = 1 - beta
  float beta2, fresh2;
  float step;        // rate / (1 - beta1^t)
  float correction;  // sqrt(1 - beta2^t)
  float epsilon;
};

StepFactors factors_of(const AdamOptions& o, double rate, double t) {
  auto f = [](double value) { return static_cast<float>(value); };
  bool decoupled = o.decay == Decay::decoupled;
  return {f(decoupled ? 1.0 - rate * o.weight_decay : 1.0),
          f(decoupled ? 0.0 : o.weight_decay),
          f(o.beta1),
          f(1.0 - o.beta1),
          f(o.beta2),
          f(1.0 - o.beta2),
          f(rate / (1.0 - std::pow(o.beta1, t))),
          f(std::sqrt(1.0 - std::pow(o.beta2, t))),
          f(o.epsilon)};
}

// g <- g + l2 p, m <- beta1 m + (1 - beta1) g, v <- beta2 v + (1 - beta2) g^2,
// p <- decay p - step m / (sqrt(v) / correction + epsilon)
void update(float* __restrict p, float* __restrict m, float* __restrict v,
            const float* __restrict g, const StepFactors& f, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    float d = g[i] + f.l2 * p[i];
    m[i] = f.beta1 * m[i] + f.fresh1 * d;
    v[i] = f.beta2 * v[i] + f.fresh2 * d * d;
    p[i] = f.decay * p[i] - f.step * m[i] / (std::sqrt(v[i]) / f.correction + f.epsilon);
  }
}

double sum_of_squares(const Matrix& gradient) {
  return parallel_sum(gradient.size(), kBlock, 0.0, [&](size_t begin, size_t end) {
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += double{gradient.data()[i]} * gradient.data()[i];
    return sum;
  });
}

}  // namespace

Adam::Adam(Parameters& parameters, AdamOptions options)
    : parameters_(parameters), options_(options) {
  for (const Parameter& each : parameters)
    moments_.push_back(
        {Matrix::zeros(each.value.rows(), each.value.cols(), MemoryTag::parameters),
         Matrix::zeros(each.value.rows(), each.value.cols(), MemoryTag::parameters)});
}

void Adam::step(double learning_rate) {
  require(parameters_.size() == moments_.size(),
          "Adam: the table grew from {} to {} parameters after the optimiser was made",
          moments_.size(), parameters_.size());
  StepFactors factors = factors_of(options_, learning_rate, static_cast<double>(++steps_));
  size_t index = 0;
  for (Parameter& each : parameters_) {
    Moments& moments = moments_[index++];
    parallel_for(each.value.size(), kBlock, [&](size_t begin, size_t end) {
      update(each.value.data() + begin, moments.first.data() + begin, moments.second.data() + begin,
             each.gradient.data() + begin, factors, end - begin);
    });
  }
}

double clip_gradients(Parameters& parameters, double max_norm) {
  double squares = 0;
  for (const Parameter& each : parameters) squares += sum_of_squares(each.gradient);
  double norm = std::sqrt(squares);
  auto scale = static_cast<float>(max_norm / (norm + 1e-6));
  if (max_norm == 0 || scale >= 1.0F) return norm;
  for (Parameter& each : parameters)
    for (float& value : each.gradient.span()) value *= scale;
  return norm;
}

}  // namespace spex
