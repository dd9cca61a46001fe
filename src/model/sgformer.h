// SGFormer: one layer of linear attention of all nodes to all beside a small GCN, and a weighted
// sum of the two.
#pragma once

#include <spex/model/layers.h>

namespace spex {

struct SgformerOptions : Options<SgformerOptions> {
  size_t layers = 2;  // convolutions
  size_t width = 64;
  double graph_weight = 0.5;
  bool join_start = false;
  double dropout = 0.5;

  void list(SettingList& s) override;
  Needs needs() const override;
  std::unique_ptr<Model> make(const Shape& shape, uint64_t seed) const override;
};

}  // namespace spex
