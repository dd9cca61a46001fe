// NodeFormer: softmax attention of all nodes to all through random features, as a sample of graphs
// in training, with a share of the graph's own edges.
#pragma once

#include <spex/model/layers.h>

namespace spex {

struct NodeformerOptions : Options<NodeformerOptions> {
  size_t layers = 2;
  size_t width = 32;
  size_t heads = 1;  // of `width` features each
  size_t features = 30;
  size_t draws = 10;
  size_t order = 2;
  double softmax_temperature = 0.25;
  double edge_loss = 0.1;
  double dropout = 0.0;

  void list(SettingList& s) override;
  Needs needs() const override;
  std::unique_ptr<Model> make(const Shape& shape, uint64_t seed) const override;

  // The random numbers of a layer.
  enum Site : size_t { dropping, projecting, first_draw };
  Random random(const Pass& pass, size_t layer, size_t site) const;
};

}  // namespace spex
