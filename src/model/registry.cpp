#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/text.h>
#include <spex/model/registry.h>
#include <spex/model/spexphormer.h>

#include "model/gnn.h"
#include "model/mlp.h"

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
