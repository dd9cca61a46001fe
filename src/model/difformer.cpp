// x = dropout(relu(LN(X W + b)))
// L times:  q, k, v linear in x;  q, k divided by their norms
//           a_i = (q_i sum_j k_j^T v_j + sum_j v_j) / (q_i . sum_j k_j + N)
//           x = dropout(LN((a + Ahat v) / 2 + x / 2))
// logits = x W + b
#include "model/difformer.h"

#include <spex/core/error.h>
#include <spex/ops/elementwise.h>
#include <spex/ops/linear_attention.h>

#include <deque>

namespace spex {
namespace {

struct Layer {
  Linear q, k, v;
  NormLayer norm;

  Layer(Maker maker, const std::string& name, size_t width)
      : q(maker, name + "q", width, width, true),
        k(maker, name + "k", width, width, true),
        v(maker, name + "v", width, width, true),
        norm(maker, name + "norm", Norm::layer, width) {}
};

class Difformer : public Model {
 public:
  Difformer(const Shape& shape, const DifformerOptions& options, uint64_t seed)
      : Model(shape), options_(options) {
    Maker maker{*this, seed};
    encoder_ = Linear(maker, "encoder", shape.inputs, options.width, true);
    norm_ = NormLayer(maker, "encoder_norm", Norm::layer, options.width);
    for (size_t i = 0; i < options.layers; ++i)
      layers_.emplace_back(maker, fmt::format("layers.{}.", i), options.width);
    head_ = Linear(maker, "head", options.width, shape.outputs, true);
  }

  Var forward(Tape& tape, const ModelInput& input, const Neighbourhood& neighbourhood,
              const Pass& pass) override {
    Var x = norm_(tape, encoder_(tape, input), pass);
    x = relu_dropped(tape, std::move(x), options_.dropout, pass, layers_.size());
    return run_layers(
        tape, std::move(x), layers_.size(), head_, pass,
        [&](size_t i, const Var& in) { return run_layer(tape, i, in, neighbourhood, pass); });
  }

 private:
  Var run_layer(Tape& tape, size_t i, const Var& x, const Neighbourhood& neighbourhood,
                const Pass& pass) const {
    const Layer& layer = layers_[i];
    Var v = layer.v(tape, x);
    Var a = linear_attention(tape, normalize_matrix(tape, layer.q(tape, x)),
                             normalize_matrix(tape, layer.k(tape, x)), v, 1,
                             {.value_sum = 1.0F, .constant = static_cast<float>(x.rows())});
    Var y = add(tape, a, neighbourhood.normalized_sum(tape, i, v));
    y = layer.norm(tape, combine(tape, y, 0.5F, x, 0.5F), pass);
    return dropped(tape, y, options_.dropout, pass, i);
  }

  DifformerOptions options_;
  Linear encoder_, head_;
  NormLayer norm_;
  std::deque<Layer> layers_;
};

}  // namespace

void DifformerOptions::list(SettingList& s) {
  s.add("layers", layers, {1, 100}, "steps of diffusion");
  s.add("width", width, {1, 8192}, "features per node");
  s.add("dropout", dropout, {0, 1, Range::below}, "share of activations dropped in training");
}

Needs DifformerOptions::needs() const {
  return all_nodes_needs(layers, width);
}

std::unique_ptr<Model> DifformerOptions::make(const Shape& shape, uint64_t seed) const {
  return std::make_unique<Difformer>(shape, *this, seed);
}

}  // namespace spex
