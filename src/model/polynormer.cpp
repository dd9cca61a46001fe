// x = dropout(dropout_in(X) W + b);  S = 0
// local:  h = relu(x H + b);  y = dropout(relu(GAT(x) + x R + r))
//         x = (1 - beta) LN(h * y) + beta y;  S += x
// global, from z = LN(S):  h = z H + b;  k = sigmoid(z K + b);  v = z V + b
//         a = linear attention of k to k and v;  z = dropout(relu((LN(a) * (h + beta)) W + b))
// logits: of S in the first epochs, of z after them. beta is learned, a number per feature.
#include "model/polynormer.h"

#include <spex/core/error.h>
#include <spex/model/transformer.h>
#include <spex/ops/elementwise.h>
#include <spex/ops/linear_attention.h>

#include <deque>

#include "model/convolution.h"

namespace spex {
namespace {

struct LocalLayer {
  Linear gate, residual;
  ConvolutionLayer convolution;
  NormLayer norm;
  Parameter* beta;

  LocalLayer(Maker maker, const std::string& name, const PolynormerOptions& o)
      : gate(maker, name + "gate", o.width, o.width, true),
        residual(maker, name + "residual", o.width, o.width, true),
        convolution(maker, name + "conv", Convolution::gat, o.width, o.width, o.heads),
        norm(maker, name + "norm", Norm::layer, o.width),
        beta(&maker.constant(name + "beta", 1, o.width, static_cast<float>(o.beta))) {}
};

struct GlobalLayer {
  Linear gate, key, value, out;
  NormLayer norm;
  Parameter* beta;

  GlobalLayer(Maker maker, const std::string& name, const PolynormerOptions& o)
      : gate(maker, name + "gate", o.width, o.width, true),
        key(maker, name + "k", o.width, o.width, true),
        value(maker, name + "v", o.width, o.width, true),
        out(maker, name + "out", o.width, o.width, true),
        norm(maker, name + "norm", Norm::layer, o.width),
        beta(&maker.constant(name + "beta", 1, o.width, static_cast<float>(o.beta))) {}
};

class Polynormer : public Model {
 public:
  Polynormer(const Shape& shape, const PolynormerOptions& options, uint64_t seed)
      : Model(shape), options_(options) {
    Maker maker{*this, seed};
    encoder_ = Linear(maker, "encoder", shape.inputs, options.width, true);
    for (size_t i = 0; i < options.local_layers; ++i)
      local_.emplace_back(maker, fmt::format("local.{}.", i), options);
    local_head_ = Linear(maker, "local_head", options.width, shape.outputs, true);
    if (options.global_layers == 0) return;
    norm_ = NormLayer(maker, "norm", Norm::layer, options.width);
    for (size_t i = 0; i < options.global_layers; ++i)
      global_.emplace_back(maker, fmt::format("global.{}.", i), options);
    head_ = Linear(maker, "head", options.width, shape.outputs, true);
  }

  Var forward(Tape& tape, const ModelInput& input, const Neighbourhood& neighbourhood,
              const Pass& pass) override {
    Var x = encode(tape, input, pass), sum;
    inspect(pass, "the node encoder", x);
    for (size_t i = 0; i < local_.size(); ++i) {
      x = run_local(tape, i, x, neighbourhood, pass);
      inspect(pass, fmt::format("local layer {}", i + 1), x);
      sum = sum ? add(tape, sum, x) : x;
    }
    bool local = global_.empty() || pass.epoch < options_.local_epochs;
    Var logits = local ? local_head_(tape, sum) : run_all_global(tape, sum, pass);
    inspect(pass, "the output layer", logits);
    return logits;
  }

 private:
  Var encode(Tape& tape, const ModelInput& input, const Pass& pass) const {
    if (options_.in_dropout == 0)
      return dropped(tape, encoder_(tape, input), options_.dropout, pass, 1);
    require(!input.sparse,
            "polynormer.in_dropout is for dense features, and these are sparse; "
            "set it to 0");
    Var x = dropped(tape, tape.constant(input.dense), options_.in_dropout, pass, 0);
    return dropped(tape, encoder_(tape, x), options_.dropout, pass, 1);
  }

  Var run_local(Tape& tape, size_t i, const Var& x, const Neighbourhood& neighbourhood,
                const Pass& pass) const {
    const LocalLayer& layer = local_[i];
    Var y = layer.residual.add_to(tape, layer.convolution(tape, i, {nullptr, x}, neighbourhood), x);
    y = relu_dropped(tape, std::move(y), options_.dropout, pass, 2 + i);
    Var gated = multiply(tape, relu(tape, layer.gate(tape, x)), y);
    return interpolate(tape, layer.norm(tape, gated, pass), y, tape.parameter(*layer.beta));
  }

  Var run_all_global(Tape& tape, const Var& sum, const Pass& pass) const {
    Var z = norm_(tape, sum, pass);
    for (size_t i = 0; i < global_.size(); ++i) {
      z = run_global(tape, i, z, pass);
      inspect(pass, fmt::format("global layer {}", i + 1), z);
    }
    return head_(tape, z);
  }

  Var run_global(Tape& tape, size_t i, const Var& z, const Pass& pass) const {
    const GlobalLayer& layer = global_[i];
    Var k = sigmoid(tape, layer.key(tape, z));
    Var a = linear_attention(tape, k, k, layer.value(tape, z), options_.heads, {});
    a = layer.norm(tape, a, pass);
    Var gate = add_row(tape, layer.gate(tape, z), tape.parameter(*layer.beta));
    Var y = layer.out(tape, multiply(tape, a, gate));
    return relu_dropped(tape, std::move(y), options_.dropout, pass, 2 + local_.size() + i);
  }

  PolynormerOptions options_;
  Linear encoder_, local_head_, head_;
  NormLayer norm_;  // between the local and the global layers
  std::deque<LocalLayer> local_;
  std::deque<GlobalLayer> global_;
};

}  // namespace

void PolynormerOptions::list(SettingList& s) {
  s.add("local_layers", local_layers, {1, 100}, "layers over the graph's edges");
  s.add("global_layers", global_layers, {0, 100}, "layers over all nodes");
  s.add("width", width, {1, 8192}, "features per node, all heads together");
  s.add("heads", heads, {1, 64}, "attention heads");
  s.add("in_dropout", in_dropout, {0, 1, Range::below}, "share of input features dropped");
  s.add("dropout", dropout, {0, 1, Range::below}, "share of activations dropped in training");
  s.add("beta", beta, {0, 1}, "share of a layer's result that is not gated, to start from");
  s.add("local_epochs", local_epochs, {0, 1e6}, "epochs before the global layers are added");
}

void PolynormerOptions::check() const {
  check_heads(width, heads);
}

Needs PolynormerOptions::needs() const {
  Needs needs;
  needs.local = true;
  needs.every_row = true;
  needs.layers = local_layers;
  needs.row_floats = width;
  needs.restart_epoch = global_layers > 0 ? local_epochs : 0;
  return needs;
}

std::unique_ptr<Model> PolynormerOptions::make(const Shape& shape, uint64_t seed) const {
  return std::make_unique<Polynormer>(shape, *this, seed);
}

}  // namespace spex
