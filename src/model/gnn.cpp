// pre:      x = dropout(X W + b)
// L times:  x = dropout(relu(norm(conv(x) + x R + r)))
// logits = x W + b
#include "model/gnn.h"

#include <spex/core/error.h>
#include <spex/model/transformer.h>
#include <spex/ops/elementwise.h>

#include <deque>

namespace spex {
namespace {

class Gnn : public Model {
 public:
  Gnn(const Shape& shape, const GnnOptions& options, uint64_t seed)
      : Model(shape), options_(options) {
    Maker maker{*this, seed};
    size_t inputs = shape.inputs;
    if (options.pre_linear) pre_ = Linear(maker, "pre", inputs, options.width, true);
    if (options.pre_linear) inputs = options.width;
    for (size_t i = 0; i < options.depth(); ++i, inputs = options.width) {
      std::string name = fmt::format("layers.{}.", i);
      layers_.emplace_back(maker, name + "conv", options.convolution, inputs, options.width,
                           options.heads);
      if (options.residual)
        residual_.emplace_back(maker, name + "residual", inputs, options.width, true);
      norm_.emplace_back(maker, name + "norm", options.norm, options.width);
    }
    head_ = Linear(maker, "head", inputs, shape.outputs, true);
  }

  Var forward(Tape& tape, const ModelInput& input, const Neighbourhood& neighbourhood,
              const Pass& pass) override {
    LayerInput in{&input, {}};
    if (pre_) {
      in = {nullptr, dropped(tape, pre_(tape, input), options_.dropout, pass, layers_.size())};
      inspect(pass, "the node encoder", in.x);
    }
    // Who looks at the stages wants them whole.
    bool in_parts =
        neighbourhood.row_parts > 1 && !tape.recording() && !pass.training && !pass.inspect;
    for (size_t i = 0; i < layers_.size(); ++i) {
      // Sparse features times W are a table of their own whichever way.
      if (in_parts && !in.is_sparse())
        in = {nullptr, run_in_parts(tape, i, in, neighbourhood, pass)};
      else
        in = {nullptr, run_layer(tape, i, in, neighbourhood, pass)};
    }
    inspect(pass, "the output layer", in.x);
    return in.x;
  }

 private:
  bool is_last(size_t i) const { return i + 1 == layers_.size(); }

  // Two tables are there at a time: what the layer reads, and its result. GAT has a third, and
  // what the last layer makes before the head is never whole.
  Var run_in_parts(Tape& tape, size_t i, const LayerInput& in, const Neighbourhood& neighbourhood,
                   const Pass& pass) const {
    size_t rows = neighbourhood.layer(i).queries();
    size_t most = (rows + neighbourhood.row_parts - 1) / neighbourhood.row_parts;
    Matrix out(rows, is_last(i) ? shape().outputs : options_.width, MemoryTag::activations);
    ConvolutionLayer::Sources sources;
    for (size_t first = 0; first < rows; first += most) {
      size_t count = std::min(most, rows - first);
      Neighbourhood part = neighbourhood.row_range(i, first, count);
      if (first == 0) sources = layers_[i].sources(tape, i, in, part);
      Var y = layers_[i].own(tape, i, in, part);
      y = layers_[i].compute(tape, i, in, std::move(y), sources, part);
      y = finish_layer(tape, i, in, std::move(y), part, pass);
      copy(out.view().block(first, count), y.value());
    }
    return tape.constant(std::move(out));
  }

  Var run_layer(Tape& tape, size_t i, const LayerInput& in, const Neighbourhood& neighbourhood,
                const Pass& pass) const {
    return finish_layer(tape, i, in, layers_[i](tape, i, in, neighbourhood), neighbourhood, pass);
  }

  // What follows the convolution, in the last layer the head as well.
  Var finish_layer(Tape& tape, size_t i, const LayerInput& in, Var y,
                   const Neighbourhood& neighbourhood, const Pass& pass) const {
    if (options_.residual)
      y = in.add_to_queries(tape, std::move(y), residual_[i], i, neighbourhood);
    y = norm_[i](tape, y, pass);
    y = relu_dropped(tape, std::move(y), options_.dropout, pass, i);
    inspect(pass, fmt::format("layer {}", i + 1), y);
    return is_last(i) ? head_(tape, y) : y;
  }

  GnnOptions options_;
  Linear pre_, head_;
  std::deque<ConvolutionLayer> layers_;
  std::deque<Linear> residual_;
  std::deque<NormLayer> norm_;
};

}  // namespace

std::unique_ptr<ModelOptions> GnnOptions::of(Convolution convolution) {
  auto options = std::make_unique<GnnOptions>();
  options->convolution = convolution;
  return options;
}

std::unique_ptr<ModelOptions> GnnOptions::sampled(Convolution convolution) {
  auto options = std::make_unique<GnnOptions>();
  options->convolution = convolution;
  options->samples = true;
  return options;
}

void GnnOptions::list(SettingList& s) {
  if (samples)
    s.add("fan_out", fan_out, {1, 65535}, "neighbours drawn in each layer, first layer first");
  else
    s.add("layers", layers, {1, 1000}, "convolutions");
  if (convolution == Convolution::gat) s.add("heads", heads, {1, 64}, "attention heads");
  list_layers(s);
}

void GnnOptions::list_layers(SettingList& s) {
  s.add("width", width, {1, 8192}, "features per node");
  s.add("pre_linear", pre_linear, "a linear map before the first convolution");
  s.add("residual", residual, "a learned linear residual in every layer");
  s.add("norm", norm, sampled_norm_words(), "none, layer or batch");
  s.add("dropout", dropout, {0, 1, Range::below}, "share of activations dropped in training");
}

void GnnOptions::check() const {
  check_heads(width, heads);
  require(depth() > 0, "fan_out must have a number for each layer; it has none");
}

Needs GnnOptions::needs() const {
  Needs needs;
  needs.local = true;
  needs.layers = depth();
  needs.row_floats = width;
  needs.batching = samples ? Batching::sampled : Batching::random_nodes;
  if (samples) needs.sampling.local = fan_out;
  return needs;
}

std::unique_ptr<Model> GnnOptions::make(const Shape& shape, uint64_t seed) const {
  return std::make_unique<Gnn>(shape, *this, seed);
}

}  // namespace spex
