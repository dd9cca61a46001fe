// t = X_k W + b, for every hop k of every node; X_0 has the features and eigenvectors
// L times:  t = t + dropout(attention(LN(t)) W + b);  t = t + dropout(W2 gelu(W1 LN(t)))
// t = LN(t);  o = t_0 + sum_k softmax_k(u . t_k) t_k;  logits = W relu(W o)
#include "model/nagphormer.h"

#include <spex/core/error.h>
#include <spex/model/transformer.h>
#include <spex/ops/dense_attention.h>
#include <spex/ops/elementwise.h>

#include <cmath>
#include <deque>

namespace spex {
namespace {

// Attention among the tokens of a node, then two linear maps, each on normalised tokens.
struct TokenLayer {
  NormLayer attention_norm, feed_norm;
  Linear query, key, value, out, up, down;

  TokenLayer(Maker maker, const std::string& name, size_t width)
      : attention_norm(maker, name + "attention_norm", Norm::layer, width),
        feed_norm(maker, name + "feed_norm", Norm::layer, width),
        query(maker, name + "query", width, width, true),
        key(maker, name + "key", width, width, true),
        value(maker, name + "value", width, width, true),
        out(maker, name + "out", width, width, true),
        up(maker, name + "up", width, 2 * width, true),
        down(maker, name + "down", 2 * width, width, true) {}

  Var attend(Tape& tape, const Var& t, size_t tokens, size_t heads, const Pass& pass) const {
    Var y = attention_norm(tape, t, pass);
    y = token_attention(tape, query(tape, y), key(tape, y), value(tape, y), tokens, heads);
    return out(tape, y);
  }
  Var feed(Tape& tape, const Var& t, const Pass& pass) const {
    Var y = up(tape, feed_norm(tape, t, pass));
    y = gelu(tape, y);
    return down(tape, y);
  }
};

class Nagphormer : public Model {
 public:
  Nagphormer(const Shape& shape, const NagphormerOptions& options, uint64_t seed)
      : Model(shape), options_(options), tokens_(options.hops + 1) {
    Maker maker{*this, seed};
    size_t width = options.width, half = std::max<size_t>(1, width / 2);
    encoder_ = Linear(maker, "encoder", shape.inputs / tokens_, width, true);
    for (size_t i = 0; i < options.layers; ++i)
      layers_.emplace_back(maker, fmt::format("layers.{}.", i), width);
    norm_ = NormLayer(maker, "norm", Norm::layer, width);
    hop_scores_ = &maker.uniform("hop_scores", 1, width, 1.0 / std::sqrt(2.0 * width));
    hidden_ = Linear(maker, "hidden", width, half, true);
    head_ = Linear(maker, "head", half, shape.outputs, true);
  }

  Var forward(Tape& tape, const ModelInput& input, const Neighbourhood&,
              const Pass& pass) override {
    Var t = encoder_(tape, tape.constant(tokens_of(input.dense)));
    inspect(pass, "the token encoder", t);
    for (size_t i = 0; i < layers_.size(); ++i) {
      t = join(tape, t, layers_[i].attend(tape, t, tokens_, options_.heads, pass), pass, 2 * i);
      t = join(tape, t, layers_[i].feed(tape, t, pass), pass, 2 * i + 1);
      inspect(pass, fmt::format("layer {}", i + 1), t);
    }
    t = norm_(tape, t, pass);
    Var o = hop_readout(tape, t, tape.parameter(*hop_scores_), tokens_);
    o = hidden_(tape, o);
    Var logits = head_(tape, relu(tape, o));
    inspect(pass, "the output layer", logits);
    return logits;
  }

 private:
  // A node's row holds its tokens one after the other.
  ConstMatrixView tokens_of(ConstMatrixView rows) const {
    require(rows.stride == rows.cols, "tokens need rows without gaps between them");
    size_t each = rows.cols / tokens_;
    return {rows.data, rows.rows * tokens_, each, each};
  }
  Var join(Tape& tape, const Var& t, const Var& branch, const Pass& pass, size_t site) const {
    float rate = pass.training ? static_cast<float>(options_.dropout) : 0.0F;
    return add_dropped(tape, t, branch, rate, dropout_random(pass, site));
  }

  NagphormerOptions options_;
  size_t tokens_;
  Linear encoder_, hidden_, head_;
  std::deque<TokenLayer> layers_;
  NormLayer norm_;
  Parameter* hop_scores_ = nullptr;
};

}  // namespace

void NagphormerOptions::list(SettingList& s) {
  s.add("hops", hops, {1, 100}, "how far the features are averaged; tokens besides the node's own");
  s.add("eigenvectors", eigenvectors, {0, 1000},
        "of the graph's Laplacian, which every token has beside the features");
  s.add("layers", layers, {1, 100}, "transformer layers");
  s.add("width", width, {1, 8192}, "features per token");
  s.add("heads", heads, {1, 64}, "attention heads");
  s.add("dropout", dropout, {0, 1, Range::below}, "share of activations dropped in training");
}

void NagphormerOptions::check() const {
  check_heads(width, heads);
}

Needs NagphormerOptions::needs() const {
  Needs needs;
  needs.hops = hops;
  needs.eigenvectors = eigenvectors;
  needs.batching = Batching::rows;
  return needs;
}

std::unique_ptr<Model> NagphormerOptions::make(const Shape& shape, uint64_t seed) const {
  return std::make_unique<Nagphormer>(shape, *this, seed);
}

}  // namespace spex
