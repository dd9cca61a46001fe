#include <spex/core/error.h>
#include <spex/model/transformer.h>
#include <spex/ops/elementwise.h>
#include <spex/ops/rows.h>

#include <algorithm>
#include <cmath>

namespace spex {
namespace {

constexpr float kInitialValueScale = 0.25F;
constexpr float kLargestClamp = 70.0F;  // sums of e^70 over a row are far from overflowing

// Which of a layer's three dropouts a random number is for.
enum class Site : uint32_t { attention, hidden, output, count };

Random dropout_at(const Pass& pass, size_t layer, Site site) {
  return dropout_random(pass, layer * static_cast<size_t>(Site::count) + static_cast<size_t>(site));
}

}  // namespace

const Words<Modulation>& modulation_words() {
  static const Words<Modulation> words = {{"elementwise", Modulation::elementwise},
                                          {"sum", Modulation::sum}};
  return words;
}

void check_heads(size_t width, size_t heads) {
  require(heads > 0 && width % heads == 0,
          "a width of {} cannot be shared by {} heads; choose a multiple", width, heads);
}

Transformer::Transformer(const Shape& shape, const TransformerOptions& options, uint64_t seed)
    : Model(shape), options_(options) {
  require(options.layers > 0 && options.width > 0 && shape.inputs > 0 && shape.outputs > 0,
          "a network needs at least one layer, feature, output and a width above 0");
  check_heads(options.width, options.heads);
  Maker maker{*this, seed};
  encoder_ = Linear(maker, "encoder", shape.inputs, options.width, true);
  type_embedding_ = &maker.normal("edge_types", shape.edge_types, options.width);
  if (options.virtual_nodes > 0)
    virtual_embedding_ = &maker.normal("virtual_nodes", options.virtual_nodes, options.width);
  for (size_t i = 0; i < options.pre_layers; ++i)
    pre_.emplace_back(maker, fmt::format("pre.{}", i), options.width);
  for (size_t i = 0; i < options.layers; ++i)
    layers_.push_back(make_layer(maker, fmt::format("layers.{}.", i)));
  for (size_t i = 0; i < options.post_layers; ++i)
    post_.emplace_back(maker, fmt::format("post.{}", i), options.width);
  head_ = Linear(maker, "head", options.width, shape.outputs, true);
  require(shape.edge_features <= kMaxEdgeFeatures,
          "edges have {} features, and at most {} can be used; leave some columns out",
          shape.edge_features, kMaxEdgeFeatures);
  if (shape.edge_features > 0)  // the last, so that the others start as they do without
    edge_encoder_ = &maker.uniform("edge_encoder", shape.edge_features, options.width,
                                   1.0 / std::sqrt(static_cast<double>(shape.edge_features)));
  if (options.modulation == Modulation::sum) {
    ones_ = Matrix(options.width, options.width, MemoryTag::parameters);
    fill(ones_, 1.0F);
  }
  if (options.expander_bias != 0) {
    start_bias_ = Matrix::zeros(shape.edge_types, options.heads, MemoryTag::parameters);
    fill(start_bias_.view().block(static_cast<size_t>(EdgeType::expander), 1),
         static_cast<float>(options.expander_bias));
  }
}

Transformer::Layer Transformer::make_layer(Maker maker, const std::string& name) const {
  size_t width = options_.width;
  Layer layer;
  layer.q = Linear(maker, name + "q", width, width, false);
  layer.k = Linear(maker, name + "k", width, width, false);
  layer.v = Linear(maker, name + "v", width, width, false);
  layer.modulation = Linear(maker, name + "modulation", width, width, false);
  if (options_.type_bias)
    layer.bias = Linear(maker, name + "type_bias", width, options_.heads, true);
  if (options_.normalize_values)
    layer.value_scale = &maker.constant(name + "value_scale", 1, 1, kInitialValueScale);
  if (options_.log_scores)
    layer.log_score_weight = &maker.zeros(name + "log_score_weight", 1, options_.heads);
  layer.norm1 = NormLayer(maker, name + "norm1", options_.norm, width);
  layer.feed_forward = FeedForwardLayer(maker, name, width, 2 * width);
  layer.norm2 = NormLayer(maker, name + "norm2", options_.norm, width);
  return layer;
}

// The node encoder and the linear map of the first pre-layer, between which nothing happens: their
// product is applied, which is one pass over the nodes instead of two.
Var Transformer::encode(Tape& tape, const ModelInput& input) const {
  Var weight = tape.parameter(*encoder_.weight);
  Var bias = tape.parameter(*encoder_.bias);
  Var virtual_nodes = virtual_embedding_ ? tape.parameter(*virtual_embedding_) : Var{};
  if (!pre_.empty()) {
    const Linear& next = pre_.front().linear;
    weight = next(tape, weight);
    bias = next(tape, bias);
    if (virtual_nodes) virtual_nodes = next(tape, virtual_nodes);
  }
  Var x = input.sparse ? linear(tape, *input.sparse, weight, bias)
                       : linear(tape, tape.constant(input.dense), weight, bias);
  return virtual_nodes ? append_rows(tape, x, virtual_nodes) : x;
}

// E and B of edge types, and of features where there are any.
void Transformer::add_edges(Tape& tape, const Layer& layer, AttentionInputs& in) const {
  auto modulation = [&](const Var& edges) {
    Var e = layer.modulation(tape, edges);
    if (options_.modulation == Modulation::elementwise) return e;
    return linear(tape, e, tape.constant(std::as_const(ones_).view()));
  };
  Var types = tape.parameter(*type_embedding_);
  in.modulation = modulation(types);
  if (layer.bias) in.bias = layer.bias(tape, types);
  if (!start_bias_.empty())
    in.bias = add(tape, in.bias, tape.constant(std::as_const(start_bias_).view()));
  if (!edge_encoder_) return;
  Var features = tape.parameter(*edge_encoder_);
  in.edge_modulation = modulation(features);
  if (layer.bias) in.edge_bias = linear(tape, features, tape.parameter(*layer.bias.weight));
}

// With one head, score and output need no projected keys and values: (E * q W_q) . (k W_k) is
// (q W_q diag(E) W_k^T) . k, and sum w (k W_v) is (sum w k) W_v. A batch has many more keys than
// queries, so folding the projections into the queries' side is cheaper, and attention reads one
// row per edge, not two. Edges with features have an E of their own, which cannot be folded.
Var Transformer::attend(Tape& tape, size_t index, const Var& x, const Var& queries,
                        const Neighbourhood& neighbourhood, const Pass& pass) const {
  const Layer& layer = layers_[index];
  AttentionInputs in;
  add_edges(tape, layer, in);
  if (layer.log_score_weight) in.log_score_weight = tape.parameter(*layer.log_score_weight);
  AttentionOptions options;
  options.heads = options_.heads;
  options.scale_by_width = options_.scale_by_width;
  options.temperature = pass.temperature;
  options.clamp = options_.clamp;
  if (options_.clamp_first)
    options.clamp = std::min(options_.clamp / pass.temperature, kLargestClamp);
  bool folded =
      neighbourhood.sampled && options_.heads == 1 && !layer.value_scale && !edge_encoder_;
  if (folded) {
    Var fold = fold_queries(tape, tape.parameter(*layer.q.weight), tape.parameter(*layer.k.weight),
                            in.modulation, score_factor(options, options_.width));
    in.q = linear(tape, queries, fold);
    in.k = x;
    in.modulation = {};
  } else {
    in.q = layer.q(tape, queries);
    in.joined = !layer.value_scale && takes_joined(options_.width, options_.heads);
    if (in.joined) {
      in.k = linear(
          tape, x,
          concatenate(tape, tape.parameter(*layer.k.weight), tape.parameter(*layer.v.weight)));
    } else {
      in.k = layer.k(tape, x);
      in.v = layer.v(tape, x);
    }
    if (layer.value_scale) in.v = normalize_rows(tape, in.v, tape.parameter(*layer.value_scale));
  }
  Var attended = neighbourhood.attend(tape, index, in, options);
  return folded ? layer.v(tape, attended) : attended;
}

Var Transformer::run_layer(Tape& tape, size_t index, const Var& x,
                           const Neighbourhood& neighbourhood, const Pass& pass) const {
  const Layer& layer = layers_[index];
  float rate = pass.training ? static_cast<float>(options_.dropout) : 0.0F;
  Var queries = neighbourhood.queries(tape, index, x);
  Var attended = attend(tape, index, x, queries, neighbourhood, pass);
  Var y = add_dropped(tape, queries, attended, rate, dropout_at(pass, index, Site::attention));
  y = layer.norm1(tape, y, pass);
  Var out = layer.feed_forward(tape, y, rate, dropout_at(pass, index, Site::hidden));
  out = add_dropped(tape, y, out, rate, dropout_at(pass, index, Site::output));
  return layer.norm2(tape, out, pass);
}

// Keeps the part's input only and runs it again when its gradients are wanted: the same numbers,
// since dropout is a function of the step.
Var Transformer::run_twice(Tape& tape, const Var& x, const Pass& pass, const Part& part) {
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

Var Transformer::run_front(Tape& tape, const ModelInput& input, const Pass& pass) const {
  Var x = encode(tape, input);
  inspect(pass, "the node encoder", x);
  for (size_t i = 0; i < pre_.size(); ++i) {
    x = i == 0 ? pre_[i].finish(tape, x, pass) : pre_[i](tape, x, pass);
    inspect(pass, fmt::format("pre-layer {}", i + 1), x);
  }
  return x;
}

Var Transformer::forward(Tape& tape, const ModelInput& input, const Neighbourhood& neighbourhood,
                         const Pass& pass) {
  require(neighbourhood.types == shape().edge_types,
          "a network for {} edge types meets a graph with {}", shape().edge_types,
          neighbourhood.types);
  bool twice = options_.recompute && tape.recording();
  auto run = [&](const Var& in, const Part& part) {
    return twice ? run_twice(tape, in, pass, part) : part(tape, in, pass);
  };
  // The features are no Var; that the weights want gradients makes the front part of the tape.
  Var x = run(tape.parameter(*encoder_.weight),
              [this, input](Tape& t, const Var&, const Pass& p) { return run_front(t, input, p); });
  for (size_t i = 0; i < layers_.size(); ++i) {
    x = run(x, [this, i, neighbourhood](Tape& t, const Var& in, const Pass& p) {
      return run_layer(t, i, in, neighbourhood, p);
    });
    inspect(pass, fmt::format("layer {}", i + 1), x);
  }
  x = first_rows(tape, x, x.rows() - neighbourhood.virtual_nodes);
  for (size_t i = 0; i < post_.size(); ++i) {
    x = post_[i](tape, x, pass);
    inspect(pass, fmt::format("post-layer {}", i + 1), x);
  }
  Var logits = head_(tape, x);
  inspect(pass, "the output layer", logits);
  return logits;
}

}  // namespace spex
