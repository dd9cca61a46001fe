// x = dropout(relu(norm(x W + b))), layers - 1 times; logits = x W + b.
#include "model/mlp.h"

#include <spex/core/error.h>
#include <spex/ops/elementwise.h>

#include <deque>

namespace spex {
namespace {

class Mlp : public Model {
 public:
  Mlp(const Shape& shape, const MlpOptions& options, uint64_t seed)
      : Model(shape), options_(options) {
    Maker maker{*this, seed};
    size_t inputs = shape.inputs;
    for (size_t i = 0; i + 1 < options.layers; ++i, inputs = options.width) {
      std::string name = fmt::format("layers.{}.", i);
      linear_.emplace_back(maker, name + "linear", inputs, options.width, true);
      norm_.emplace_back(maker, name + "norm", options.norm, options.width);
    }
    head_ = Linear(maker, "head", inputs, shape.outputs, true);
  }

  Var forward(Tape& tape, const ModelInput& input, const Neighbourhood&,
              const Pass& pass) override {
    if (linear_.empty()) return head_(tape, input);
    Var x;
    for (size_t i = 0; i < linear_.size(); ++i) {
      x = i == 0 ? linear_[i](tape, input) : linear_[i](tape, x);
      x = norm_[i](tape, x, pass);
      x = relu(tape, std::move(x));
      x = dropped(tape, x, options_.dropout, pass, i);
      inspect(pass, fmt::format("layer {}", i + 1), x);
    }
    Var logits = head_(tape, x);
    inspect(pass, "the output layer", logits);
    return logits;
  }

 private:
  MlpOptions options_;
  std::deque<Linear> linear_;
  std::deque<NormLayer> norm_;
  Linear head_;
};

}  // namespace

void MlpOptions::list(SettingList& s) {
  s.add("layers", layers, {1, 100}, "linear maps, the last one to the outputs");
  s.add("width", width, {1, 8192}, "features per node");
  s.add("norm", norm, sampled_norm_words(), "none, layer or batch");
  s.add("dropout", dropout, {0, 1, Range::below}, "share of activations dropped in training");
}

Needs MlpOptions::needs() const {
  Needs needs;
  needs.batching = Batching::rows;
  return needs;
}

std::unique_ptr<Model> MlpOptions::make(const Shape& shape, uint64_t seed) const {
  return std::make_unique<Mlp>(shape, *this, seed);
}

}  // namespace spex
