#include "model/sign.h"

namespace spex {

void SignOptions::list(SettingList& s) {
  s.add("hops", hops, {1, 100}, "how far the features are averaged");
  perceptron.list(s);
}

Needs SignOptions::needs() const {
  Needs needs = perceptron.needs();
  needs.hops = hops;
  return needs;
}

std::unique_ptr<Model> SignOptions::make(const Shape& shape, uint64_t seed) const {
  return perceptron.make(shape, seed);
}

}  // namespace spex
