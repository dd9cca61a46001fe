#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/text.h>
#include <spex/model/registry.h>
#include <spex/model/spexphormer.h>

#include "model/difformer.h"
#include "model/gnn.h"
#include "model/gps.h"
#include "model/mlp.h"
#include "model/nodeformer.h"
#include "model/polynormer.h"
#include "model/sgformer.h"

namespace spex {
namespace {

template <class Kind>
std::unique_ptr<ModelOptions> options() {
  return std::make_unique<Kind>();
}

// The tuned GNNs' way: Adam with L2, a constant rate, many epochs.
Recipe plain(size_t epochs, double rate, double decay) {
  Recipe recipe;
  recipe.epochs = epochs;
  recipe.learning_rate = rate;
  recipe.schedule = Schedule::constant;
  recipe.warmup = 0;
  recipe.weight_decay = decay;
  recipe.decay = Decay::gradient;
  recipe.clip = 0;
  return recipe;
}

}  // namespace

const std::vector<ModelInfo>& models() {
  static const std::vector<ModelInfo> all = {
      {"spexphormer",
       "attention over a few neighbours, drawn by an estimator's scores",
       {},
       options<SpexphormerOptions>,
       "estimator"},
      {"exphormer",
       "attention over the graph, an expander and self-loops: all edges",
       {},
       options<ExphormerOptions>},
      {"estimator",
       "the narrow network that learns where to look, alone",
       {.learning_rate = 0.03},
       options<EstimatorOptions>},
      {"mlp", "a multi-layer perceptron: features alone, no edges", plain(500, 0.01, 5e-4),
       options<MlpOptions>},
      {"gcn", "graph convolutions with a linear residual, tuned", plain(500, 0.005, 5e-4),
       [] { return GnnOptions::of(Convolution::gcn); }},
      {"sage", "means over neighbours with a linear residual, tuned", plain(500, 0.005, 5e-4),
       [] { return GnnOptions::of(Convolution::sage); }},
      {"exphormer-gcn",
       "exphormer with a GCN beside the attention of every layer",
       {},
       [] { return GpsOptions::exphormer(Convolution::gcn); }},
      {"exphormer-gat",
       "exphormer with a GAT beside the attention of every layer",
       {},
       [] { return GpsOptions::exphormer(Convolution::gat); }},
      {"gps",
       "GraphGPS: a convolution beside softmax attention over all pairs, for small graphs",
       {},
       options<GpsOptions>},
      {"polynormer", "gated GAT layers, then gated linear attention over all nodes",
       plain(900, 0.001, 0), options<PolynormerOptions>},
      {"sgformer", "one layer of linear attention over all nodes beside a GCN",
       plain(500, 0.01, 5e-4), options<SgformerOptions>},
      {"difformer", "diffusion over all nodes and along the edges (DIFFormer-s)",
       plain(500, 0.001, 5e-4), options<DifformerOptions>},
      {"nodeformer", "softmax attention over all nodes through random features",
       plain(500, 0.001, 5e-4), options<NodeformerOptions>},
  };
  return all;
}

const ModelInfo& find_model(const std::string& name) {
  std::vector<std::string> names;
  for (const ModelInfo& info : models()) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  fail("there is no model called {}{}; there are {}", name, did_you_mean(name, names),
       fmt::join(names, ", "));
}

}  // namespace spex
