// Simple graph convolution: what is left of a GCN without its activations.
#pragma once

#include <spex/model/layers.h>

namespace spex {

struct SgcOptions : Options<SgcOptions> {
  size_t hops = 2;

  void list(SettingList& s) override;
  Needs needs() const override;
  std::unique_ptr<Model> make(const Shape& shape, uint64_t seed) const override;
};

}  // namespace spex
