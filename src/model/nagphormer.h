// NAGphormer: the tokens of a node are its features, with a few eigenvectors of the graph's
// Laplacian behind them, averaged over 0, 1, .. hops; a transformer runs over the few tokens of
// each node.
#pragma once

#include <spex/model/layers.h>

namespace spex {

struct NagphormerOptions : Options<NagphormerOptions> {
  size_t hops = 4;
  size_t eigenvectors = 3;  // of the graph's Laplacian, behind the features
  size_t layers = 1;
  size_t width = 128;
  size_t heads = 8;
  double dropout = 0.1;

  void list(SettingList& s) override;
  void check() const override;
  Needs needs() const override;
  std::unique_ptr<Model> make(const Shape& shape, uint64_t seed) const override;
};

}  // namespace spex
