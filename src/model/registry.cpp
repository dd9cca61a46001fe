#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/text.h>
#include <spex/model/registry.h>
#include <spex/model/spexphormer.h>

#include "model/difformer.h"
#include "model/glognn.h"
#include "model/gnn.h"
#include "model/goat.h"
#include "model/gps.h"
#include "model/graphsaint.h"
#include "model/mlp.h"
#include "model/nagphormer.h"
#include "model/nodeformer.h"
#include "model/polynormer.h"
#include "model/sgc.h"
#include "model/sgformer.h"
#include "model/sign.h"
#include "model/spexphormer_local.h"

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

Recipe batches(size_t epochs, double rate, double decay, size_t batch_size) {
  Recipe recipe = plain(epochs, rate, decay);
  recipe.batch_size = batch_size;
  return recipe;
}

// AdamW with a warm-up.
Recipe nagphormer_recipe() {
  Recipe recipe;
  recipe.epochs = 200;
  recipe.learning_rate = 0.001;
  recipe.weight_decay = 1e-5;
  recipe.batch_size = 2000;
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
      {"spexphormer-local", "deep convolutions with attention beside the last ones",
       plain(500, 0.01, 5e-4), options<SpexphormerLocalOptions>, "estimator"},
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
      {"gat", "attention over neighbours with a linear residual, tuned", plain(500, 0.005, 5e-4),
       [] { return GnnOptions::of(Convolution::gat); }},
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
      {"gcn-nsampler", "gcn in batches of sampled neighbours", batches(100, 0.001, 0, 1000),
       [] { return GnnOptions::sampled(Convolution::gcn); }},
      {"sage-nsampler", "sage in batches of sampled neighbours", batches(100, 0.001, 0, 1000),
       [] { return GnnOptions::sampled(Convolution::sage); }},
      {"gat-nsampler", "gat in batches of sampled neighbours", batches(100, 0.001, 0, 1000),
       [] { return GnnOptions::sampled(Convolution::gat); }},
      {"graphsaint", "gcn, sage or gat on sampled subgraphs, with weights that undo their bias",
       batches(100, 0.001, 0, 3000), options<GraphSaintOptions>},
      {"sgc", "a linear map of features averaged over some hops", plain(500, 0.01, 5e-5),
       options<SgcOptions>},
      {"sign", "a perceptron of features averaged over 0 to some hops", plain(500, 0.001, 5e-5),
       options<SignOptions>},
      {"nagphormer", "a transformer over each node's averages of 0 to some hops",
       nagphormer_recipe(), options<NagphormerOptions>},
      {"goat", "attention over a ball around each node, and to centroids of all nodes",
       batches(100, 0.001, 0, 1000), options<GoatOptions>},
      {"glognn", "every node from all nodes, by coefficients in closed form",
       plain(500, 0.01, 5e-5), options<GloGnnOptions>},
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
