// The tuned GNNs: convolutions over the graph's own edges, each with a linear residual.
#pragma once

#include "model/convolution.h"

namespace spex {

struct GnnOptions : Options<GnnOptions> {
  Convolution convolution = Convolution::gcn;
  size_t layers = 3;
  size_t width = 128;
  size_t heads = 1;  // of GAT
  bool pre_linear = false;
  bool residual = true;
  Norm norm = Norm::batch;
  double dropout = 0.5;
  bool samples = false;                       // neighbours are drawn, as many as fan_out says, and
  std::vector<size_t> fan_out = {15, 10, 5};  // there are as many layers as it has numbers

  static std::unique_ptr<ModelOptions> of(Convolution convolution);
  static std::unique_ptr<ModelOptions> sampled(Convolution convolution);
  size_t depth() const { return samples ? fan_out.size() : layers; }
  void list(SettingList& s) override;
  void list_layers(SettingList& s);  // what a layer is like
  Needs needs() const override;
  std::unique_ptr<Model> make(const Shape& shape, uint64_t seed) const override;
  void check() const override;
};

}  // namespace spex
