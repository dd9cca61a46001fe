// A multi-layer perceptron: what the features alone are worth.
#pragma once

#include <spex/model/layers.h>

namespace spex {

struct MlpOptions : Options<MlpOptions> {
  size_t layers = 3;  // linear maps, the last one to the logits
  size_t width = 128;
  Norm norm = Norm::layer;
  double dropout = 0.5;

  void list(SettingList& s) override;
  Needs needs() const override;
  std::unique_ptr<Model> make(const Shape& shape, uint64_t seed) const override;
};

}  // namespace spex
