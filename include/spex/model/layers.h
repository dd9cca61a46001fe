// The parts that models are made of. Each adds its parameters to the model's table and initialises
// them where it is made; the random numbers of a parameter depend on the seed and its place in the
// table.
#pragma once

#include <spex/core/random.h>
#include <spex/model/model.h>
#include <spex/ops/linear.h>
#include <spex/ops/norms.h>

#include <functional>
#include <memory>
#include <string>

namespace spex {

// Where a part's parameters go, and the seed they start from.
struct Maker {
  Model& model;
  uint64_t seed;

  Parameter& zeros(const std::string& name, size_t rows, size_t cols);
  Parameter& constant(const std::string& name, size_t rows, size_t cols, float value);
  Parameter& uniform(const std::string& name, size_t rows, size_t cols, double bound);
  Parameter& normal(const std::string& name, size_t rows, size_t cols);  // variance 1
};

// x W + b. Weights and biases start uniform within +-1/sqrt(fan in).
struct Linear {
  Parameter* weight = nullptr;
  Parameter* bias = nullptr;  // or none

  Linear() = default;
  Linear(Maker maker, const std::string& name, size_t inputs, size_t outputs, bool with_bias);
  // Glorot: uniform within +-sqrt(6 / (inputs + outputs)), the bias zero.
  static Linear glorot(Maker maker, const std::string& name, size_t inputs, size_t outputs,
                       bool with_bias);
  explicit operator bool() const { return weight != nullptr; }
  // `rows` as in ops/linear.h.
  Var operator()(Tape& tape, const Var& x, std::span<const NodeId> rows = {}) const;
  Var operator()(Tape& tape, const ModelInput& input) const;
  Var add_to(Tape& tape, Var y, const Var& x,
             std::span<const NodeId> rows = {}) const;  // y + x W + b
};

enum class Norm { none, layer, batch, graph };
const Words<Norm>& norm_words();          // all of them
const Words<Norm>& sampled_norm_words();  // those that do not need every row: none, layer, batch

const Words<Sampling>& sampling_words();

struct NormLayer {
  Norm kind = Norm::none;
  Parameter* gain = nullptr;
  Parameter* bias = nullptr;
  Parameter* alpha = nullptr;
  std::shared_ptr<RunningStatistics> running;

  NormLayer() = default;
  NormLayer(Maker maker, const std::string& name, Norm kind, size_t width);
  Var operator()(Tape& tape, const Var& x, const Pass& pass) const;
};

// The paper's pre- and post-layers: linear without bias, batch norm, ReLU, rows normalised.
struct Dense {
  Linear linear;
  NormLayer norm;

  Dense(Maker maker, const std::string& name, size_t width);
  Var operator()(Tape& tape, const Var& x, const Pass& pass) const;
  Var finish(Tape& tape, const Var& y, const Pass& pass) const;  // what follows the linear map
};

// W2 dropout(relu(W1 x)): the hidden layer is never whole in memory.
struct FeedForwardLayer {
  Linear up, down;

  FeedForwardLayer() = default;
  FeedForwardLayer(Maker maker, const std::string& name, size_t width, size_t hidden);
  Var operator()(Tape& tape, const Var& x, float rate, const Random& random) const;
};

// The random numbers of a model's dropout number `site`: different in every pass.
Random dropout_random(const Pass& pass, size_t site);
// dropout(x) in training, x otherwise.
Var dropped(Tape& tape, const Var& x, double rate, const Pass& pass, size_t site);
// dropped(relu(x)) and x + dropped(branch), each in one pass over the numbers.
Var relu_dropped(Tape& tape, Var x, double rate, const Pass& pass, size_t site);
Var add_dropped(Tape& tape, const Var& x, const Var& branch, double rate, const Pass& pass,
                size_t site);

// Tells whoever looks for the first value that is not finite.
void inspect(const Pass& pass, const std::string& stage, const Var& value);

// What follows a model's encoder: x = layer(i, x) for so many layers, then the head's logits.
Var run_layers(Tape& tape, Var x, size_t layers, const Linear& head, const Pass& pass,
               const std::function<Var(size_t i, const Var& x)>& layer);

}  // namespace spex
