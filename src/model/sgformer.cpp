// attention:  z0 = dropout(relu(LN(X W + b)));  q, k, v linear in z0;  q, k divided by their norms
//             a_i = (q_i sum_j k_j^T v_j + N v_i) / (q_i . sum_j k_j + N)
//             z = dropout(LN((a + z0) / 2))
// graph:      g0 = dropout(relu(BN(X W + b)));  L times g = dropout(relu(BN(Ahat g W + b))) + g0
// logits = (w g + (1 - w) z) W + b
#include "model/sgformer.h"

#include <spex/core/error.h>
#include <spex/ops/elementwise.h>
#include <spex/ops/linear_attention.h>

#include <deque>

#include "model/convolution.h"

namespace spex {
namespace {

class Sgformer : public Model {
 public:
  Sgformer(const Shape& shape, const SgformerOptions& options, uint64_t seed)
      : Model(shape), options_(options) {
    Maker maker{*this, seed};
    size_t width = options.width;
    encoder_ = Linear(maker, "attention.encoder", shape.inputs, width, true);
    encoder_norm_ = NormLayer(maker, "attention.encoder_norm", Norm::layer, width);
    q_ = Linear(maker, "attention.q", width, width, true);
    k_ = Linear(maker, "attention.k", width, width, true);
    v_ = Linear(maker, "attention.v", width, width, true);
    norm_ = NormLayer(maker, "attention.norm", Norm::layer, width);
    graph_encoder_ = Linear(maker, "graph.encoder", shape.inputs, width, true);
    graph_encoder_norm_ = NormLayer(maker, "graph.encoder_norm", Norm::batch, width);
    for (size_t i = 0; i < options.layers; ++i) {
      std::string name = fmt::format("graph.{}.", i);
      convolutions_.emplace_back(maker, name + "conv", Convolution::gcn, width, width, 1);
      if (options.join_start) starts_.emplace_back(maker, name + "start", width, width, false);
      norms_.emplace_back(maker, name + "norm", Norm::batch, width);
    }
    head_ = Linear(maker, "head", width, shape.outputs, true);
  }

  Var forward(Tape& tape, const ModelInput& input, const Neighbourhood& neighbourhood,
              const Pass& pass) override {
    Var z = run_attention(tape, input, pass);
    inspect(pass, "the attention", z);
    Var g = run_graph(tape, input, neighbourhood, pass);
    auto w = static_cast<float>(options_.graph_weight);
    Var logits = head_(tape, combine(tape, g, w, z, 1.0F - w));
    inspect(pass, "the output layer", logits);
    return logits;
  }

 private:
  Var run_attention(Tape& tape, const ModelInput& input, const Pass& pass) const {
    Var z = encoder_norm_(tape, encoder_(tape, input), pass);
    z = relu_dropped(tape, std::move(z), options_.dropout, pass, 0);
    auto count = static_cast<float>(z.rows());
    Var a = linear_attention(tape, normalize_matrix(tape, q_(tape, z)),
                             normalize_matrix(tape, k_(tape, z)), v_(tape, z), 1,
                             {.own_value = count, .constant = count});
    z = norm_(tape, combine(tape, a, 0.5F, z, 0.5F), pass);
    return dropped(tape, z, options_.dropout, pass, 1);
  }

  Var run_graph(Tape& tape, const ModelInput& input, const Neighbourhood& neighbourhood,
                const Pass& pass) const {
    Var start = graph_encoder_norm_(tape, graph_encoder_(tape, input), pass);
    start = relu_dropped(tape, std::move(start), options_.dropout, pass, 2);
    Var g = start;
    for (size_t i = 0; i < convolutions_.size(); ++i) {
      Var y = convolutions_[i](tape, i, {nullptr, g}, neighbourhood);
      // [Ahat g, g0] W, a part at a time
      if (options_.join_start) y = starts_[i].add_to(tape, std::move(y), start);
      y = norms_[i](tape, y, pass);
      g = add(tape, relu_dropped(tape, y, options_.dropout, pass, 3 + i), start);
      inspect(pass, fmt::format("convolution {}", i + 1), g);
    }
    return g;
  }

  SgformerOptions options_;
  Linear encoder_, q_, k_, v_, graph_encoder_, head_;
  NormLayer encoder_norm_, norm_, graph_encoder_norm_;
  std::deque<ConvolutionLayer> convolutions_;
  std::deque<Linear> starts_;
  std::deque<NormLayer> norms_;
};

}  // namespace

void SgformerOptions::list(SettingList& s) {
  s.add("layers", layers, {1, 100}, "convolutions beside the attention");
  s.add("width", width, {1, 8192}, "features per node");
  s.add("graph_weight", graph_weight, {0, 1}, "weight of the convolutions' result");
  s.add("join_start", join_start, "convolutions read their first input as well");
  s.add("dropout", dropout, {0, 1, Range::below}, "share of activations dropped in training");
}

Needs SgformerOptions::needs() const {
  return all_nodes_needs(layers, width);
}

std::unique_ptr<Model> SgformerOptions::make(const Shape& shape, uint64_t seed) const {
  return std::make_unique<Sgformer>(shape, *this, seed);
}

}  // namespace spex
