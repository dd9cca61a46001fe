#include <spex/core/error.h>
#include <spex/model/network.h>
#include <spex/ops/elementwise.h>
#include <spex/ops/linear.h>
#include <spex/ops/rows.h>

#include <cmath>

namespace spex {
namespace {

constexpr float kInitialValueScale = 0.25F;

// Which of a layer's three dropouts a random number is for.
enum class Site : uint32_t { attention, hidden, output, count };

Random dropout_at(const Pass& pass, size_t layer, Site site) {
  return {pass.seed, Purpose::dropout, pass.step,
          static_cast<uint32_t>(layer) * static_cast<uint32_t>(Site::count) +
              static_cast<uint32_t>(site)};
}

void inspect(const Pass& pass, const std::string& stage, const Var& value) {
  if (pass.inspect) pass.inspect(stage, value.value());
}

}  // namespace

Network::Network(const NetworkOptions& options, uint64_t seed) : options_(options) {
  require(options.layers > 0 && options.width > 0 && options.inputs > 0 && options.outputs > 0,
          "a network needs at least one layer, feature, output and a width above 0");
  require(options.heads > 0 && options.width % options.heads == 0,
          "a width of {} cannot be shared by {} heads; choose a multiple", options.width,
          options.heads);
  encoder_ = add_linear("encoder", options.inputs, options.width, true);
  type_embedding_ = &parameters_.add("edge_types", options.edge_types, options.width);
  if (options.virtual_nodes > 0)
    virtual_embedding_ = &parameters_.add("virtual_nodes", options.virtual_nodes, options.width);
  for (size_t i = 0; i < options.pre_layers; ++i)
    pre_.push_back(add_dense(fmt::format("pre.{}", i)));
  for (size_t i = 0; i < options.layers; ++i)
    layers_.push_back(add_layer(fmt::format("layers.{}", i)));
  for (size_t i = 0; i < options.post_layers; ++i)
    post_.push_back(add_dense(fmt::format("post.{}", i)));
  head_ = add_linear("head", options.width, options.outputs, true);
  if (options.modulation == Modulation::sum) {
    ones_ = Matrix(options.width, options.width, MemoryTag::parameters);
    fill(ones_, 1.0F);
  }
  initialise(seed);
}

Network::Linear Network::add_linear(const std::string& name, size_t inputs, size_t outputs,
                                    bool bias) {
  return {&parameters_.add(name + ".weight", inputs, outputs),
          bias ? &parameters_.add(name + ".bias", 1, outputs) : nullptr};
}

Network::NormParameters Network::add_norm(const std::string& name, Norm kind) {
  NormParameters norm;
  norm.kind = kind;
  norm.gain = &parameters_.add(name + ".gain", 1, options_.width);
  norm.bias = &parameters_.add(name + ".bias", 1, options_.width);
  if (kind == Norm::graph) norm.alpha = &parameters_.add(name + ".alpha", 1, options_.width);
  if (kind == Norm::batch) {
    statistics_.push_back({name, {}});
    norm.running = &statistics_.back().statistics;
    norm.running->mean.assign(options_.width, 0.0F);
    norm.running->variance.assign(options_.width, 1.0F);
  }
  return norm;
}

Network::Dense Network::add_dense(const std::string& name) {
  return {add_linear(name + ".linear", options_.width, options_.width, false),
          add_norm(name + ".norm", Norm::batch)};
}

Network::Layer Network::add_layer(const std::string& name) {
  size_t width = options_.width;
  Layer layer;
  layer.q = add_linear(name + ".q", width, width, false);
  layer.k = add_linear(name + ".k", width, width, false);
  layer.v = add_linear(name + ".v", width, width, false);
  layer.modulation = add_linear(name + ".modulation", width, width, false);
  if (options_.type_bias) layer.bias = add_linear(name + ".type_bias", width, options_.heads, true);
  if (options_.normalize_values) layer.value_scale = &parameters_.add(name + ".value_scale", 1, 1);
  if (options_.log_scores)
    layer.log_score_weight = &parameters_.add(name + ".log_score_weight", 1, options_.heads);
  layer.norm1 = add_norm(name + ".norm1", options_.norm);
  layer.up = add_linear(name + ".up", width, 2 * width, true);
  layer.down = add_linear(name + ".down", 2 * width, width, true);
  layer.norm2 = add_norm(name + ".norm2", options_.norm);
  return layer;
}

// Linear maps: uniform in +-1/sqrt(fan in), the bias too; embeddings: normal; norms: 1 and 0.
void Network::initialise(uint64_t seed) {
  uint32_t stream = 0;
  float bound = 0.0F;  // a bias follows its weight and shares its bound
  for (Parameter& parameter : parameters_) {
    Random random(seed, Purpose::initialisation, 0, stream++);
    std::string_view name = parameter.name;
    bool embedding = name == "edge_types" || name == "virtual_nodes";
    if (name.ends_with(".gain") || name.ends_with(".alpha")) {
      fill(parameter.value, 1.0F);
      bound = 0.0F;
    } else if (name.ends_with(".value_scale")) {
      fill(parameter.value, kInitialValueScale);
    } else if (embedding) {
      for (size_t i = 0; i < parameter.value.size(); ++i)
        parameter.value.data()[i] = static_cast<float>(random.normal(i));
    } else if (!name.ends_with(".log_score_weight")) {
      if (name.ends_with(".weight"))
        bound = 1.0F / std::sqrt(static_cast<float>(parameter.value.rows()));
      for (size_t i = 0; i < parameter.value.size(); ++i)
        parameter.value.data()[i] = bound * static_cast<float>(2.0 * random.uniform(i) - 1.0);
    }
  }
}

Var Network::apply(Tape& tape, const Linear& linear, const Var& x) {
  return spex::linear(tape, x, tape.parameter(*linear.weight),
                      linear.bias ? tape.parameter(*linear.bias) : Var{});
}

Var Network::apply(Tape& tape, const NormParameters& norm, const Var& x, const Pass& pass) {
  Var gain = tape.parameter(*norm.gain);
  Var bias = tape.parameter(*norm.bias);
  switch (norm.kind) {
    case Norm::layer:
      return layer_norm(tape, x, gain, bias);
    case Norm::graph:
      return graph_norm(tape, x, gain, bias, tape.parameter(*norm.alpha));
    case Norm::batch:
      break;
  }
  if (!pass.repeated) return batch_norm(tape, x, gain, bias, *norm.running, pass.training);
  RunningStatistics counted_already = *norm.running;
  return batch_norm(tape, x, gain, bias, counted_already, pass.training);
}

Var Network::finish(Tape& tape, const Dense& dense, const Var& y, const Pass& pass) {
  Var x = apply(tape, dense.norm, y, pass);
  x = relu(tape, x);  // frees the norm's result
  return normalize_rows(tape, x);
}

// The node encoder and the linear map of the first pre-layer, between which nothing happens: their
// product is applied, which is one pass over the nodes instead of two.
Var Network::encode(Tape& tape, const NetworkInput& input) {
  Var weight = tape.parameter(*encoder_.weight);
  Var bias = tape.parameter(*encoder_.bias);
  Var virtual_nodes = virtual_embedding_ ? tape.parameter(*virtual_embedding_) : Var{};
  if (!pre_.empty()) {
    const Linear& next = pre_.front().linear;
    weight = apply(tape, next, weight);
    bias = apply(tape, next, bias);
    if (virtual_nodes) virtual_nodes = apply(tape, next, virtual_nodes);
  }
  Var x = input.sparse ? linear(tape, *input.sparse, weight, bias)
                       : linear(tape, tape.constant(input.dense), weight, bias);
  return virtual_nodes ? append_rows(tape, x, virtual_nodes) : x;
}

// With one head, score and output need no projected keys and values: (E * q W_q) . (k W_k) is
// (q W_q diag(E) W_k^T) . k, and sum w (k W_v) is (sum w k) W_v. A batch has many more keys than
// queries, so folding the projections into the queries' side is cheaper, and attention reads one
// row per edge, not two.
Var Network::attend(Tape& tape, size_t index, const Var& x, const Var& queries,
                    const AttentionPlan& plan, const Pass& pass) {
  const Layer& layer = layers_[index];
  Var types = tape.parameter(*type_embedding_);
  AttentionInputs in;
  in.modulation = apply(tape, layer.modulation, types);
  if (options_.modulation == Modulation::sum)
    in.modulation = linear(tape, in.modulation, tape.constant(std::as_const(ones_).view()));
  if (layer.bias.weight) in.bias = apply(tape, layer.bias, types);
  if (layer.log_score_weight) in.log_score_weight = tape.parameter(*layer.log_score_weight);
  AttentionOptions options;
  options.heads = options_.heads;
  options.scale_by_width = options_.scale_by_width;
  options.temperature = pass.temperature;
  options.clamp = options_.clamp;
  bool folded = plan.sampled && options_.heads == 1 && !layer.value_scale;
  if (folded) {
    Var fold = fold_queries(tape, tape.parameter(*layer.q.weight), tape.parameter(*layer.k.weight),
                            in.modulation, score_factor(options, options_.width));
    in.q = linear(tape, queries, fold);
    in.k = x;
    in.modulation = {};
  } else {
    in.q = apply(tape, layer.q, queries);
    in.joined = !layer.value_scale && takes_joined(options_.width, options_.heads);
    if (in.joined) {
      in.k = linear(
          tape, x,
          concatenate(tape, tape.parameter(*layer.k.weight), tape.parameter(*layer.v.weight)));
    } else {
      in.k = apply(tape, layer.k, x);
      in.v = apply(tape, layer.v, x);
    }
    if (layer.value_scale) in.v = normalize_rows(tape, in.v, tape.parameter(*layer.value_scale));
  }
  Var attended = plan.attend(tape, index, in, options);
  return folded ? apply(tape, layer.v, attended) : attended;
}

Var Network::run_layer(Tape& tape, size_t index, const Var& x, const AttentionPlan& plan,
                       const Pass& pass) {
  const Layer& layer = layers_[index];
  float rate = pass.training ? options_.dropout : 0.0F;
  Var queries = plan.queries(tape, index, x);
  Var attended = attend(tape, index, x, queries, plan, pass);
  Var y = add_dropped(tape, queries, attended, rate, dropout_at(pass, index, Site::attention));
  y = apply(tape, layer.norm1, y, pass);
  FeedForward weights = {tape.parameter(*layer.up.weight), tape.parameter(*layer.up.bias),
                         tape.parameter(*layer.down.weight), tape.parameter(*layer.down.bias)};
  Var out = feed_forward(tape, y, weights, rate, dropout_at(pass, index, Site::hidden));
  out = add_dropped(tape, y, out, rate, dropout_at(pass, index, Site::output));
  return apply(tape, layer.norm2, out, pass);
}

// Keeps the part's input only and runs it again when its gradients are wanted: the same numbers,
// since dropout is a function of the step.
Var Network::run_twice(Tape& tape, const Var& x, const Pass& pass, const Part& part) {
  Tape silent(false);
  Var y = part(silent, silent.constant(x.value()), pass);
  Pass again = pass;
  again.repeated = true;
  again.inspect = {};
  return tape.result_owning(y.keep(), {x},
                            [part, kx = x.keep(), dx = x.gradient(), again](Matrix dy) {
                              Tape inner;
                              inner.backward(part(inner, Var(kx, dx), again), std::move(dy));
                            });
}

Var Network::run_front(Tape& tape, const NetworkInput& input, const Pass& pass) {
  Var x = encode(tape, input);
  inspect(pass, "the node encoder", x);
  for (size_t i = 0; i < pre_.size(); ++i) {
    x = finish(tape, pre_[i], i == 0 ? x : apply(tape, pre_[i].linear, x), pass);
    inspect(pass, fmt::format("pre-layer {}", i + 1), x);
  }
  return x;
}

Var Network::forward(Tape& tape, const NetworkInput& input, const AttentionPlan& plan,
                     const Pass& pass) {
  require(plan.types == options_.edge_types, "a network for {} edge types meets a graph with {}",
          options_.edge_types, plan.types);
  bool twice = options_.recompute && tape.recording();
  auto run = [&](const Var& in, const Part& part) {
    return twice ? run_twice(tape, in, pass, part) : part(tape, in, pass);
  };
  // The features are no Var; that the weights want gradients makes the front part of the tape.
  Var x = run(tape.parameter(*encoder_.weight),
              [this, input](Tape& t, const Var&, const Pass& p) { return run_front(t, input, p); });
  for (size_t i = 0; i < layers_.size(); ++i) {
    x = run(x, [this, i, plan](Tape& t, const Var& in, const Pass& p) {
      return run_layer(t, i, in, plan, p);
    });
    inspect(pass, fmt::format("layer {}", i + 1), x);
  }
  x = first_rows(tape, x, x.rows() - plan.virtual_nodes);
  for (size_t i = 0; i < post_.size(); ++i) {
    x = finish(tape, post_[i], apply(tape, post_[i].linear, x), pass);
    inspect(pass, fmt::format("post-layer {}", i + 1), x);
  }
  Var logits = apply(tape, head_, x);
  inspect(pass, "the output layer", logits);
  return logits;
}

}  // namespace spex
