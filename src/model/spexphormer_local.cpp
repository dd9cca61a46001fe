// pre (if asked for):  x = dropout(X W + b)
// L times:  x = dropout(relu(norm(conv(x) + x R + r + gamma attention(x))))
// logits = x W + b
// gamma is a learned number per layer that starts at 0: attention enters where it lowers the loss.
#include "model/spexphormer_local.h"

#include <spex/core/error.h>
#include <spex/model/transformer.h>
#include <spex/ops/elementwise.h>

#include <deque>
#include <optional>

#include "model/convolution.h"

namespace spex {
namespace {

const Words<LocalBranch>& branch_words() {
  static const Words<LocalBranch> words = {{"none", LocalBranch::none},
                                           {"gcn", LocalBranch::gcn},
                                           {"sage", LocalBranch::sage},
                                           {"gat", LocalBranch::gat}};
  return words;
}

Convolution convolution_of(LocalBranch branch) {
  if (branch == LocalBranch::gat) return Convolution::gat;
  return branch == LocalBranch::sage ? Convolution::sage : Convolution::gcn;
}

// Attention over the attention graph; the type of an edge changes its score.
struct AttentionBranch {
  Linear q, k, v, modulation, bias;
  Parameter* gamma;

  AttentionBranch(Maker maker, const std::string& name, size_t inputs,
                  const SpexphormerLocalOptions& o)
      : q(maker, name + "q", inputs, o.width, false),
        k(maker, name + "k", inputs, o.width, false),
        v(maker, name + "v", inputs, o.width, false),
        modulation(maker, name + "modulation", o.width, o.width, false),
        bias(maker, name + "type_bias", o.width, o.heads, true),
        gamma(&maker.zeros(name + "gamma", 1, 1)) {}

  Var operator()(Tape& tape, size_t l, const LayerInput& in, const Var& types, size_t heads,
                 const Neighbourhood& neighbourhood) const {
    AttentionInputs inputs;
    inputs.q = in.apply_to_queries(tape, q, l, neighbourhood);
    inputs.k = in.apply(tape, k);
    inputs.v = in.apply(tape, v);
    inputs.modulation = modulation(tape, types);
    inputs.bias = bias(tape, types);
    AttentionOptions options;
    options.heads = heads;
    options.scale_by_width = true;
    return scale(tape, neighbourhood.attend(tape, l, inputs, options), tape.parameter(*gamma));
  }
};

struct Layer {
  std::optional<ConvolutionLayer> conv;
  Linear residual;
  std::optional<AttentionBranch> attention;
  NormLayer norm;

  Layer(Maker maker, size_t index, size_t inputs, const SpexphormerLocalOptions& o) {
    std::string name = fmt::format("layers.{}.", index);
    if (o.conv != LocalBranch::none)
      conv.emplace(maker, name + "conv", convolution_of(o.conv), inputs, o.width, o.heads);
    if (o.residual) residual = Linear(maker, name + "residual", inputs, o.width, true);
    if (o.attends(index)) attention.emplace(maker, name, inputs, o);
    norm = NormLayer(maker, name + "norm", o.norm, o.width);
  }
};

class SpexphormerLocal : public Model {
 public:
  SpexphormerLocal(const Shape& shape, const SpexphormerLocalOptions& options, uint64_t seed)
      : Model(shape), options_(options) {
    Maker maker{*this, seed};
    size_t inputs = shape.inputs;
    if (options.pre_linear) pre_ = Linear(maker, "pre", inputs, options.width, true);
    if (options.pre_linear) inputs = options.width;
    if (options.attention_layers > 0)
      types_ = &maker.normal("edge_types", shape.edge_types, options.width);
    for (size_t i = 0; i < options.layers; ++i, inputs = options.width)
      layers_.emplace_back(maker, i, inputs, options);
    head_ = Linear(maker, "head", inputs, shape.outputs, true);
  }

  Var forward(Tape& tape, const ModelInput& input, const Neighbourhood& neighbourhood,
              const Pass& pass) override {
    LayerInput in{&input, {}};
    if (pre_) {
      in = {nullptr, dropped(tape, pre_(tape, input), options_.dropout, pass, layers_.size())};
      inspect(pass, "the node encoder", in.x);
    }
    for (size_t i = 0; i < layers_.size(); ++i) {
      in = {nullptr, run_layer(tape, i, in, neighbourhood, pass)};
      inspect(pass, fmt::format("layer {}", i + 1), in.x);
    }
    Var logits = head_(tape, in.x);
    inspect(pass, "the output layer", logits);
    return logits;
  }

 private:
  Var run_layer(Tape& tape, size_t i, const LayerInput& in, const Neighbourhood& neighbourhood,
                const Pass& pass) const {
    const Layer& layer = layers_[i];
    Var y;
    if (layer.conv) y = (*layer.conv)(tape, i, in, neighbourhood);
    if (layer.residual)
      y = y ? in.add_to_queries(tape, std::move(y), layer.residual, i, neighbourhood)
            : in.apply_to_queries(tape, layer.residual, i, neighbourhood);
    if (layer.attention)
      y = add(
          tape, std::move(y),
          (*layer.attention)(tape, i, in, tape.parameter(*types_), options_.heads, neighbourhood));
    y = layer.norm(tape, y, pass);
    return relu_dropped(tape, std::move(y), options_.dropout, pass, i);
  }

  SpexphormerLocalOptions options_;
  Linear pre_, head_;
  Parameter* types_ = nullptr;
  std::deque<Layer> layers_;
};

}  // namespace

void SpexphormerLocalOptions::list(SettingList& s) {
  s.add("layers", layers, {1, 1000}, "layers of a local branch and a linear residual");
  s.add("width", width, {1, 8192}, "features per node, all heads together");
  s.add("heads", heads, {1, 64}, "attention heads");
  s.add("conv", conv, branch_words(), "none, gcn, sage or gat, over the graph's own edges");
  s.add("attention_layers", attention_layers, {0, 1000},
        "the last so many layers attend over graph and expander; 0: none does");
  s.add("degree", degree, {0, 65535},
        "neighbours that attention draws by an estimator's scores; 0: all of them");
  s.add("local_cap", local_cap, {1, 65535}, "graph neighbours of a node in a batch, per layer");
  s.add("sampling", sampling, sampling_words(), "weighted, uniform or top");
  s.add("resample_every", resample_every, {1, 1e6}, "epochs between new samples");
  s.add("pre_linear", pre_linear, "a linear map before the first layer");
  s.add("residual", residual, "a learned linear residual in every layer");
  s.add("norm", norm, sampled_norm_words(), "none, layer or batch");
  s.add("dropout", dropout, {0, 1, Range::below}, "share of activations dropped in training");
}

void SpexphormerLocalOptions::check() const {
  check_heads(width, heads);
  require(residual || conv != LocalBranch::none,
          "without a residual every layer needs a convolution; choose one, or residual = true");
  require(attention_layers <= layers, "attention in {} of {} layers; choose at most all of them",
          attention_layers, layers);
}

std::vector<std::string> SpexphormerLocalOptions::idle() const {
  std::vector<std::string> names;
  if (attention_layers == 0) names.push_back("degree");
  if (attention_layers == 0 && conv != LocalBranch::gat) names.push_back("heads");
  return names;
}

Needs SpexphormerLocalOptions::needs() const {
  Needs needs;
  bool attention = attention_layers > 0, draws = attention && degree > 0;
  needs.attention = attention;
  needs.local = conv != LocalBranch::none;
  needs.scores = draws && sampling != Sampling::uniform;
  needs.layers = layers;
  needs.row_floats = attention ? 2 * width : width;
  needs.batching = draws || (needs.local && !attention) ? Batching::sampled
                   : attention                          ? Batching::none
                                                        : Batching::rows;
  needs.sampling.kind = sampling;
  needs.sampling.resample_every = resample_every;
  for (size_t i = 0; draws && i < layers; ++i)
    needs.sampling.degrees.push_back(attends(i) ? degree : 0);
  if (needs.local) needs.sampling.local.assign(layers, local_cap);
  return needs;
}

std::unique_ptr<Model> SpexphormerLocalOptions::make(const Shape& shape, uint64_t seed) const {
  return std::make_unique<SpexphormerLocal>(shape, *this, seed);
}

}  // namespace spex
