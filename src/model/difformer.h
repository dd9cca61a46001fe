// DIFFormer-s: diffusion between all nodes, by linear attention, and along the graph's edges.
#pragma once

#include <spex/model/layers.h>

namespace spex {

struct DifformerOptions : Options<DifformerOptions> {
  size_t layers = 2;
  size_t width = 64;
  double dropout = 0.5;

  void list(SettingList& s) override;
  Needs needs() const override;
  std::unique_ptr<Model> make(const Shape& shape, uint64_t seed) const override;
};

}  // namespace spex
