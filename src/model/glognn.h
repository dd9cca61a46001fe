// GloGNN: each node's representation is a combination of those of all nodes. The coefficients solve
// a least-squares problem that keeps them close to the graph's own hops; the solution is never
// written out, so the cost grows with the nodes and not with their pairs.
#pragma once

#include <spex/model/layers.h>

namespace spex {

struct GloGnnOptions : Options<GloGnnOptions> {
  size_t width = 64;
  size_t layers = 2;   // combinations
  size_t orders = 3;   // hops that coefficients are kept close to
  double alpha = 0;    // how strongly coefficients are pulled to zero
  double beta = 1000;  // .. and to the hops
  double gamma = 0.5;  // share of the start in every layer
  double delta = 0.9;  // share of the features in the start; the rest is the graph's rows
  double dropout = 0.5;

  void list(SettingList& s) override;
  void check() const override;
  Needs needs() const override;
  std::unique_ptr<Model> make(const Shape& shape, uint64_t seed) const override;
};

}  // namespace spex
