// Layers of two branches, a convolution over the graph's edges and an attention: over all pairs of
// nodes (GraphGPS), or over the attention graph (Exphormer with a GNN beside it).
#pragma once

#include "model/convolution.h"

namespace spex {

enum class GpsAttention { all_pairs, sparse };

struct GpsOptions : Options<GpsOptions> {
  GpsAttention attention = GpsAttention::all_pairs;
  Convolution convolution = Convolution::gcn;
  size_t layers = 3;
  size_t width = 64;
  size_t heads = 4;  // of the attention, and of GAT
  double dropout = 0.2;

  // Exphormer with this convolution.
  static std::unique_ptr<ModelOptions> exphormer(Convolution convolution);
  void list(SettingList& s) override;
  Needs needs() const override;
  std::unique_ptr<Model> make(const Shape& shape, uint64_t seed) const override;
  void check() const override;
};

}  // namespace spex
