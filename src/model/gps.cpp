// x = X W + b
// L times:  l = BN(x + dropout(conv(x)));  a = BN(x + dropout(attention(x)));  y = l + a
//           x = BN(y + dropout(W2 dropout(relu(W1 y))))
// logits = x W + b
// All pairs: softmax attention with biases and a linear map behind it. Sparse: Exphormer's, with a
// learned modulation for each type of edge.
#include "model/gps.h"

#include <spex/core/error.h>
#include <spex/model/transformer.h>
#include <spex/ops/dense_attention.h>
#include <spex/ops/elementwise.h>

#include <cmath>
#include <deque>

namespace spex {
namespace {

constexpr float kClamp = 5.0F;  // of Exphormer's scores
enum Site : size_t { after_convolution, after_attention, in_feed_forward, after_feed_forward };
constexpr size_t kSites = 4;  // of dropout in a layer

struct Layer {
  ConvolutionLayer convolution;
  Linear q, k, v;
  Linear out;         // all pairs
  Linear modulation;  // sparse
  NormLayer convolution_norm, attention_norm, norm;
  FeedForwardLayer feed_forward;

  Layer(Maker maker, const std::string& name, const GpsOptions& o)
      : convolution(maker, name + "conv", o.convolution, o.width, o.width, o.heads) {
    bool sparse = o.attention == GpsAttention::sparse;
    q = Linear(maker, name + "q", o.width, o.width, !sparse);
    k = Linear(maker, name + "k", o.width, o.width, !sparse);
    v = Linear(maker, name + "v", o.width, o.width, !sparse);
    Linear& last = sparse ? modulation : out;
    last = Linear(maker, name + (sparse ? "modulation" : "out"), o.width, o.width, !sparse);
    convolution_norm = NormLayer(maker, name + "conv_norm", Norm::batch, o.width);
    attention_norm = NormLayer(maker, name + "attention_norm", Norm::batch, o.width);
    feed_forward = FeedForwardLayer(maker, name, o.width, 2 * o.width);
    norm = NormLayer(maker, name + "norm", Norm::batch, o.width);
  }
};

class Gps : public Model {
 public:
  Gps(const Shape& shape, const GpsOptions& options, uint64_t seed)
      : Model(shape), options_(options) {
    Maker maker{*this, seed};
    encoder_ = Linear(maker, "encoder", shape.inputs, options.width, true);
    if (options.attention == GpsAttention::sparse)
      types_ = &maker.normal("edge_types", shape.edge_types, options.width);
    for (size_t i = 0; i < options.layers; ++i)
      layers_.emplace_back(maker, fmt::format("layers.{}.", i), options);
    head_ = Linear(maker, "head", options.width, shape.outputs, true);
  }

  Var forward(Tape& tape, const ModelInput& input, const Neighbourhood& neighbourhood,
              const Pass& pass) override {
    Var x = encoder_(tape, input);
    return run_layers(
        tape, std::move(x), layers_.size(), head_, pass,
        [&](size_t i, const Var& in) { return run_layer(tape, i, in, neighbourhood, pass); });
  }

 private:
  Var attend(Tape& tape, size_t i, const Var& x, const Var& queries,
             const Neighbourhood& neighbourhood) const {
    const Layer& layer = layers_[i];
    Var q = layer.q(tape, queries), k = layer.k(tape, x), v = layer.v(tape, x);
    if (options_.attention == GpsAttention::all_pairs) {
      auto width = static_cast<float>(options_.width / options_.heads);
      AllPairsOptions scaled{.scale = 1.0F / std::sqrt(width)};
      return layer.out(tape, all_pairs_attention(tape, q, k, v, options_.heads, scaled));
    }
    AttentionInputs in;
    in.q = q;
    in.k = k;
    in.v = v;
    in.modulation = layer.modulation(tape, tape.parameter(*types_));
    AttentionOptions options;
    options.heads = options_.heads;
    options.clamp = kClamp;
    return neighbourhood.attend(tape, i, in, options);
  }

  Var run_layer(Tape& tape, size_t i, const Var& x, const Neighbourhood& neighbourhood,
                const Pass& pass) const {
    const Layer& layer = layers_[i];
    Var queries = neighbourhood.queries(tape, i, x);
    auto add_branch = [&](const Var& to, const Var& branch, Site site) {
      return add_dropped(tape, to, branch, options_.dropout, pass, i * kSites + site);
    };
    Var l = layer.convolution(tape, i, {nullptr, x}, neighbourhood);
    l = layer.convolution_norm(tape, add_branch(queries, l, after_convolution), pass);
    Var a = attend(tape, i, x, queries, neighbourhood);
    a = layer.attention_norm(tape, add_branch(queries, a, after_attention), pass);
    Var y = add(tape, l, a);
    float rate = pass.training ? static_cast<float>(options_.dropout) : 0.0F;
    Var out = layer.feed_forward(tape, y, rate, dropout_random(pass, i * kSites + in_feed_forward));
    return layer.norm(tape, add_branch(y, out, after_feed_forward), pass);
  }

  GpsOptions options_;
  Linear encoder_, head_;
  Parameter* types_ = nullptr;
  std::deque<Layer> layers_;
};

}  // namespace

std::unique_ptr<ModelOptions> GpsOptions::exphormer(Convolution convolution) {
  auto options = std::make_unique<GpsOptions>();
  options->attention = GpsAttention::sparse;
  options->convolution = convolution;
  return options;
}

void GpsOptions::list(SettingList& s) {
  if (attention == GpsAttention::all_pairs)
    s.add("convolution", convolution, convolution_words(), "gcn, sage or gat");
  s.add("layers", layers, {1, 100}, "layers of a convolution and an attention");
  s.add("width", width, {1, 1024}, "features per node, all heads together");
  s.add("heads", heads, {1, 64}, "attention heads");
  s.add("dropout", dropout, {0, 1, Range::below}, "share of activations dropped in training");
}

void GpsOptions::check() const {
  check_heads(width, heads);
}

Needs GpsOptions::needs() const {
  bool sparse = attention == GpsAttention::sparse;
  Needs needs;
  needs.local = true;
  needs.attention = sparse;
  needs.all_pairs = !sparse;
  needs.layers = layers;
  needs.row_floats = sparse ? 2 * width : width;
  return needs;
}

std::unique_ptr<Model> GpsOptions::make(const Shape& shape, uint64_t seed) const {
  return std::make_unique<Gps>(shape, *this, seed);
}

}  // namespace spex
