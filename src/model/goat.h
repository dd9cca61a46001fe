// GOAT: attention over a few nodes of the ball around a node, with a bias for their distance, and
// to the centroids of all nodes, which k-means over the batches keeps.
#pragma once

#include <spex/model/layers.h>

namespace spex {

struct GoatOptions : Options<GoatOptions> {
  size_t width = 128;
  size_t heads = 4;
  std::vector<size_t> fan_out = {10, 5,
                                 2};  // what a ball has of each node's neighbours, by distance
  size_t neighbours = 48;             // of the ball, drawn anew every epoch
  size_t centroids = 4096;            // at most; no more than one for eight nodes
  double centroid_decay = 0.99;       // what an update leaves of the centroids
  double dropout = 0.5;

  void list(SettingList& s) override;
  void check() const override;
  Needs needs() const override;
  std::unique_ptr<Model> make(const Shape& shape, uint64_t seed) const override;
};

}  // namespace spex
