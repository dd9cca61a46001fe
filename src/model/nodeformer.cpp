// x = dropout(elu(LN(X W + b)))
// L times:  q, k, v linear in x;  k and q become random features, of directions drawn anew
//           a = linear attention of q to k and v; in training the mean of K, the keys of each
//               multiplied by exp(Gumbel / temperature)
//           y = (a + sum over r of sigmoid(b_r) Ahat^r v) W + b
//           x = dropout(LN(y + x))
// logits = x W + b;  the loss is lowered by the mean over layers, edges and heads of
// log(attention) / degree
#include "model/nodeformer.h"

#include <spex/core/error.h>
#include <spex/ops/elementwise.h>
#include <spex/ops/linear_attention.h>
#include <spex/ops/random_features.h>

#include <deque>

namespace spex {
namespace {

using Site = NodeformerOptions::Site;

struct Layer {
  Linear q, k, v, out;
  std::vector<Parameter*> edge_weights;  // b_r, one per head
  NormLayer norm;

  Layer(Maker maker, const std::string& name, const NodeformerOptions& o)
      : q(maker, name + "q", o.width, o.heads * o.width, true),
        k(maker, name + "k", o.width, o.heads * o.width, true),
        v(maker, name + "v", o.width, o.heads * o.width, true),
        out(maker, name + "out", o.heads * o.width, o.width, true),
        norm(maker, name + "norm", Norm::layer, o.width) {
    for (size_t r = 0; r < o.order; ++r)
      edge_weights.push_back(&maker.constant(fmt::format("{}edges.{}", name, r), 1, o.heads, 0.1F));
  }
};

class Nodeformer : public Model {
 public:
  Nodeformer(const Shape& shape, const NodeformerOptions& options, uint64_t seed)
      : Model(shape), options_(options) {
    Maker maker{*this, seed};
    encoder_ = Linear(maker, "encoder", shape.inputs, options.width, true);
    norm_ = NormLayer(maker, "encoder_norm", Norm::layer, options.width);
    for (size_t i = 0; i < options.layers; ++i)
      layers_.emplace_back(maker, fmt::format("layers.{}.", i), options);
    head_ = Linear(maker, "head", options.width, shape.outputs, true);
  }

  Var forward(Tape& tape, const ModelInput& input, const Neighbourhood& neighbourhood,
              const Pass& pass) override {
    Var x = elu(tape, norm_(tape, encoder_(tape, input), pass));
    x = drop(tape, x, layers_.size(), pass);
    return run_layers(
        tape, std::move(x), layers_.size(), head_, pass,
        [&](size_t i, const Var& in) { return run_layer(tape, i, in, neighbourhood, pass); });
  }

 private:
  Var drop(Tape& tape, const Var& x, size_t layer, const Pass& pass) const {
    if (!pass.training || options_.dropout == 0) return x;
    return dropout(tape, x, static_cast<float>(options_.dropout),
                   options_.random(pass, layer, Site::dropping));
  }

  Var run_layer(Tape& tape, size_t i, const Var& x, const Neighbourhood& neighbourhood,
                const Pass& pass) const {
    const Layer& layer = layers_[i];
    Var v = layer.v(tape, x);
    Var y = attend(tape, i, x, v, neighbourhood, pass);
    for (Parameter* weight : layer.edge_weights) {
      v = neighbourhood.normalized_sum(tape, i, v);
      y = add(tape, y, scale(tape, v, sigmoid(tape, tape.parameter(*weight))));
    }
    y = layer.norm(tape, add(tape, layer.out(tape, y), x), pass);
    return drop(tape, y, i, pass);
  }

  Var attend(Tape& tape, size_t i, const Var& x, const Var& v, const Neighbourhood& neighbourhood,
             const Pass& pass) const {
    const Layer& layer = layers_[i];
    auto temperature = static_cast<float>(options_.softmax_temperature);
    size_t heads = options_.heads;
    Var directions = tape.constant(orthogonal_projection(
        options_.features, options_.width, options_.random(pass, i, Site::projecting)));
    Var q = random_features(tape, layer.q(tape, x), directions, heads, {temperature, false});
    Var k = random_features(tape, layer.k(tape, x), directions, heads, {temperature, true});
    if (pass.training && pass.penalty && options_.edge_loss > 0)
      add_penalty(tape, edge_log_attention(tape, q, k, *neighbourhood.layer(i).local, heads), pass);
    if (!pass.training || options_.draws == 0) return linear_attention(tape, q, k, v, heads, {});
    Var sum;
    for (size_t draw = 0; draw < options_.draws; ++draw) {
      Random random = options_.random(pass, i, Site::first_draw + draw);
      Var weights = tape.constant(gumbel_weights(k.rows(), heads, temperature, random));
      Var a = linear_attention(tape, q, k, v, heads, {.key_weights = weights});
      sum = sum ? add(tape, sum, a) : a;
    }
    return scale(tape, sum, 1.0F / static_cast<float>(options_.draws));
  }

  void add_penalty(Tape& tape, const Var& mean_log, const Pass& pass) const {
    double factor = -options_.edge_loss / static_cast<double>(options_.layers);
    Var part = scale(tape, mean_log, static_cast<float>(factor));
    *pass.penalty = *pass.penalty ? add(tape, *pass.penalty, part) : part;
  }

  NodeformerOptions options_;
  Linear encoder_, head_;
  NormLayer norm_;
  std::deque<Layer> layers_;
};

}  // namespace

Random NodeformerOptions::random(const Pass& pass, size_t layer, size_t site) const {
  return dropout_random(pass, layer * (Site::first_draw + draws) + site);
}

void NodeformerOptions::list(SettingList& s) {
  s.add("layers", layers, {1, 100}, "attention layers");
  s.add("width", width, {1, 1024}, "features per node, and of every head");
  s.add("heads", heads, {1, 64}, "attention heads");
  s.add("features", features, {1, 4096}, "random features that stand for the softmax");
  s.add("draws", draws, {0, 100}, "sampled graphs per step; 0: attention as it is");
  s.add("order", order, {0, 10}, "how far along the graph's edges a layer looks");
  s.add("temperature", softmax_temperature, {0, 100, Range::above}, "of the softmax");
  s.add("edge_loss", edge_loss, {0, 1e6}, "weight of the loss that asks for attention to edges");
  s.add("dropout", dropout, {0, 1, Range::below}, "share of activations dropped in training");
}

Needs NodeformerOptions::needs() const {
  return all_nodes_needs(layers, heads * width);
}

std::unique_ptr<Model> NodeformerOptions::make(const Shape& shape, uint64_t seed) const {
  return std::make_unique<Nodeformer>(shape, *this, seed);
}

}  // namespace spex
