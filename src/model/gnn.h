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

  static std::unique_ptr<ModelOptions> of(Convolution convolution);
  void list(SettingList& s) override;
  Needs needs() const override;
  std::unique_ptr<Model> make(const Shape& shape, uint64_t seed) const override;
  void check() const override;
};

}  // namespace spex
