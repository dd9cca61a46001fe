// Polynormer: local layers whose results are multiplied with a gate, so that the logits are a
// polynomial of the features of high degree; then linear attention of all nodes to all, gated too.
// The local layers are trained alone at first, with a head of their own.
#pragma once

#include <spex/model/layers.h>

namespace spex {

struct PolynormerOptions : Options<PolynormerOptions> {
  size_t local_layers = 5;
  size_t global_layers = 2;  // 0: the local part alone
  size_t width = 128;
  size_t heads = 8;
  double in_dropout = 0;
  double dropout = 0.3;
  double beta = 0.1;
  size_t local_epochs = 100;

  void list(SettingList& s) override;
  Needs needs() const override;
  std::unique_ptr<Model> make(const Shape& shape, uint64_t seed) const override;
  void check() const override;
};

}  // namespace spex
