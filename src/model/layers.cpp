#include <spex/core/error.h>
#include <spex/model/layers.h>
#include <spex/ops/elementwise.h>

#include <cmath>

namespace spex {
namespace {

Random random_of(const Maker& maker) {
  return {maker.seed, Purpose::initialisation, 0,
          static_cast<uint32_t>(maker.model.parameters().size())};
}

double inverse_root(size_t fan_in) {
  return 1.0F / std::sqrt(static_cast<float>(fan_in));
}

}  // namespace

Parameter& Maker::zeros(const std::string& name, size_t rows, size_t cols) {
  return model.parameters().add(name, rows, cols);
}

Parameter& Maker::constant(const std::string& name, size_t rows, size_t cols, float value) {
  Parameter& parameter = zeros(name, rows, cols);
  fill(parameter.value, value);
  return parameter;
}

Parameter& Maker::uniform(const std::string& name, size_t rows, size_t cols, double bound) {
  Random random = random_of(*this);
  Parameter& parameter = zeros(name, rows, cols);
  auto scale = static_cast<float>(bound);
  for (size_t i = 0; i < parameter.value.size(); ++i)
    parameter.value.data()[i] = scale * static_cast<float>(2.0 * random.uniform(i) - 1.0);
  return parameter;
}

Parameter& Maker::normal(const std::string& name, size_t rows, size_t cols) {
  Random random = random_of(*this);
  Parameter& parameter = zeros(name, rows, cols);
  for (size_t i = 0; i < parameter.value.size(); ++i)
    parameter.value.data()[i] = static_cast<float>(random.normal(i));
  return parameter;
}

Linear::Linear(Maker maker, const std::string& name, size_t inputs, size_t outputs, bool with_bias)
    : weight(&maker.uniform(name + ".weight", inputs, outputs, inverse_root(inputs))),
      bias(with_bias ? &maker.uniform(name + ".bias", 1, outputs, inverse_root(inputs)) : nullptr) {
}

Linear Linear::glorot(Maker maker, const std::string& name, size_t inputs, size_t outputs,
                      bool with_bias) {
  Linear linear;
  double bound = std::sqrt(6.0 / static_cast<double>(inputs + outputs));
  linear.weight = &maker.uniform(name + ".weight", inputs, outputs, bound);
  if (with_bias) linear.bias = &maker.zeros(name + ".bias", 1, outputs);
  return linear;
}

Var Linear::operator()(Tape& tape, const Var& x, std::span<const NodeId> rows) const {
  return linear(tape, x, tape.parameter(*weight), bias ? tape.parameter(*bias) : Var{}, rows);
}

Var Linear::add_to(Tape& tape, Var y, const Var& x, std::span<const NodeId> rows) const {
  return add_linear(tape, std::move(y), x, tape.parameter(*weight),
                    bias ? tape.parameter(*bias) : Var{}, rows);
}

Var Linear::operator()(Tape& tape, const ModelInput& input) const {
  if (!input.sparse) return (*this)(tape, tape.constant(input.dense));
  return linear(tape, *input.sparse, tape.parameter(*weight), bias ? tape.parameter(*bias) : Var{});
}

const Words<Norm>& norm_words() {
  static const Words<Norm> words = {
      {"none", Norm::none}, {"layer", Norm::layer}, {"batch", Norm::batch}, {"graph", Norm::graph}};
  return words;
}

const Words<Norm>& sampled_norm_words() {
  static const Words<Norm> words = {
      {"none", Norm::none}, {"layer", Norm::layer}, {"batch", Norm::batch}};
  return words;
}

NormLayer::NormLayer(Maker maker, const std::string& name, Norm norm, size_t width) : kind(norm) {
  if (kind == Norm::none) return;
  gain = &maker.constant(name + ".gain", 1, width, 1.0F);
  bias = &maker.zeros(name + ".bias", 1, width);
  if (kind == Norm::graph) alpha = &maker.constant(name + ".alpha", 1, width, 1.0F);
  if (kind != Norm::batch) return;
  running = std::make_shared<RunningStatistics>();
  running->mean.assign(width, 0.0F);
  running->variance.assign(width, 1.0F);
  maker.model.state().push_back({name + ".running_mean", running->mean});
  maker.model.state().push_back({name + ".running_variance", running->variance});
}

Var NormLayer::operator()(Tape& tape, const Var& x, const Pass& pass) const {
  if (kind == Norm::none) return x;
  Var g = tape.parameter(*gain), b = tape.parameter(*bias);
  if (kind == Norm::layer) return layer_norm(tape, x, g, b);
  if (kind == Norm::graph) return graph_norm(tape, x, g, b, tape.parameter(*alpha));
  std::span<const NodeId> rows;
  if (x.rows() >= pass.counted.of) rows = pass.counted.rows;
  if (!pass.repeated) return batch_norm(tape, x, g, b, *running, pass.training, rows);
  RunningStatistics counted_already = *running;
  return batch_norm(tape, x, g, b, counted_already, pass.training, rows);
}

Dense::Dense(Maker maker, const std::string& name, size_t width)
    : linear(maker, name + ".linear", width, width, false),
      norm(maker, name + ".norm", Norm::batch, width) {}

Var Dense::finish(Tape& tape, const Var& y, const Pass& pass) const {
  Var x = norm(tape, y, pass);
  x = relu(tape, std::move(x));
  return normalize_rows(tape, x);
}

Var Dense::operator()(Tape& tape, const Var& x, const Pass& pass) const {
  return finish(tape, linear(tape, x), pass);
}

FeedForwardLayer::FeedForwardLayer(Maker maker, const std::string& name, size_t width,
                                   size_t hidden)
    : up(maker, name + "up", width, hidden, true),
      down(maker, name + "down", hidden, width, true) {}

Var FeedForwardLayer::operator()(Tape& tape, const Var& x, float rate, const Random& random) const {
  FeedForward weights = {tape.parameter(*up.weight), tape.parameter(*up.bias),
                         tape.parameter(*down.weight), tape.parameter(*down.bias)};
  return feed_forward(tape, x, weights, rate, random);
}

Random dropout_random(const Pass& pass, size_t site) {
  return {pass.seed, Purpose::dropout, pass.step, static_cast<uint32_t>(site)};
}

Var dropped(Tape& tape, const Var& x, double rate, const Pass& pass, size_t site) {
  if (!pass.training || rate == 0) return x;
  return dropout(tape, x, static_cast<float>(rate), dropout_random(pass, site));
}

Var relu_dropped(Tape& tape, Var x, double rate, const Pass& pass, size_t site) {
  return relu_dropped(tape, std::move(x), pass.training ? static_cast<float>(rate) : 0.0F,
                      dropout_random(pass, site));
}

Var add_dropped(Tape& tape, const Var& x, const Var& branch, double rate, const Pass& pass,
                size_t site) {
  return add_dropped(tape, x, branch, pass.training ? static_cast<float>(rate) : 0.0F,
                     dropout_random(pass, site));
}

void inspect(const Pass& pass, const std::string& stage, const Var& value) {
  if (pass.inspect) pass.inspect(stage, value.value());
}

Var run_layers(Tape& tape, Var x, size_t layers, const Linear& head, const Pass& pass,
               const std::function<Var(size_t i, const Var& x)>& layer) {
  inspect(pass, "the node encoder", x);
  for (size_t i = 0; i < layers; ++i) {
    x = layer(i, x);
    inspect(pass, fmt::format("layer {}", i + 1), x);
  }
  Var logits = head(tape, x);
  inspect(pass, "the output layer", logits);
  return logits;
}

}  // namespace spex
