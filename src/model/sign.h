// SIGN: a multi-layer perceptron of the features and of their averages over 1, 2, .. hops, which
// are made once, before training.
#pragma once

#include "model/mlp.h"

namespace spex {

struct SignOptions : Options<SignOptions> {
  size_t hops = 3;
  MlpOptions perceptron;

  SignOptions() { perceptron.width = 256; }
  void list(SettingList& s) override;
  Needs needs() const override;
  std::unique_ptr<Model> make(const Shape& shape, uint64_t seed) const override;
};

}  // namespace spex
