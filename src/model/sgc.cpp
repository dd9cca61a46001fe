// logits = Ahat^K X W + b. The product is made once, before training.
#include "model/sgc.h"

namespace spex {
namespace {

class Sgc : public Model {
 public:
  Sgc(const Shape& shape, const SgcOptions& options, uint64_t seed)
      : Model(shape),
        each_(shape.inputs / (options.hops + 1)),
        head_(Maker{*this, seed}, "head", each_, shape.outputs, true) {}

  Var forward(Tape& tape, const ModelInput& input, const Neighbourhood&,
              const Pass& pass) override {
    ConstMatrixView farthest = input.dense.columns(input.dense.cols - each_, each_);
    Var logits = head_(tape, tape.constant(farthest));
    inspect(pass, "the output layer", logits);
    return logits;
  }

 private:
  size_t each_;  // features of one hop
  Linear head_;
};

}  // namespace

void SgcOptions::list(SettingList& s) {
  s.add("hops", hops, {1, 100}, "how far the features are averaged");
}

Needs SgcOptions::needs() const {
  Needs needs;
  needs.hops = hops;
  needs.batching = Batching::rows;
  return needs;
}

std::unique_ptr<Model> SgcOptions::make(const Shape& shape, uint64_t seed) const {
  return std::make_unique<Sgc>(shape, *this, seed);
}

}  // namespace spex
