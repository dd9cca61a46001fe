// Spexphormer with a local branch: convolutions over all of the graph's own edges, a learned linear
// residual in every layer (unless switched off), and in the last layers attention over the
// attention graph beside them. Without attention layers it is the network of model/gnn.h; without a
// convolution as well, a perceptron.
#pragma once

#include <spex/model/layers.h>

#include <vector>

namespace spex {

enum class LocalBranch { none, gcn, sage, gat };

struct SpexphormerLocalOptions : Options<SpexphormerLocalOptions> {
  size_t layers = 8;
  size_t width = 64;
  size_t heads = 2;
  LocalBranch conv = LocalBranch::gcn;
  size_t attention_layers = 2;  // the last so many
  size_t degree = 0;            // neighbours that attention draws; 0: it sees all
  size_t local_cap = 20;        // graph neighbours of a node in a batch, in each layer
  Sampling sampling = Sampling::weighted;
  size_t resample_every = 1;
  bool pre_linear = false;
  bool residual = true;  // x R + r
  Norm norm = Norm::batch;
  double dropout = 0.2;

  bool attends(size_t layer) const { return layer + attention_layers >= layers; }
  void list(SettingList& s) override;
  Needs needs() const override;
  std::unique_ptr<Model> make(const Shape& shape, uint64_t seed) const override;
  void check() const override;
  std::vector<std::string> idle() const override;
};

}  // namespace spex
