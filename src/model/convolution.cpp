#include "model/convolution.h"

#include <spex/core/error.h>
#include <spex/ops/additive_attention.h>
#include <spex/ops/elementwise.h>

#include <cmath>

namespace spex {

const Words<Convolution>& convolution_words() {
  static const Words<Convolution> words = {
      {"gcn", Convolution::gcn}, {"sage", Convolution::sage}, {"gat", Convolution::gat}};
  return words;
}

Var LayerInput::apply(Tape& tape, const Linear& linear) const {
  return features ? linear(tape, *features) : linear(tape, x);
}

Var LayerInput::apply_to_queries(Tape& tape, const Linear& linear, size_t l,
                                 const Neighbourhood& neighbourhood) const {
  if (features) return neighbourhood.queries(tape, l, linear(tape, *features));
  return linear(tape, neighbourhood.queries(tape, l, x));
}

ConvolutionLayer::ConvolutionLayer(Maker maker, const std::string& name, Convolution kind,
                                   size_t inputs, size_t outputs, size_t heads)
    : kind_(kind), heads_(heads) {
  linear_ = kind == Convolution::sage ? Linear(maker, name, inputs, outputs, false)
                                      : Linear::glorot(maker, name, inputs, outputs, false);
  bias_ = &maker.zeros(name + ".bias", 1, outputs);
  if (kind == Convolution::sage) own_ = Linear(maker, name + ".own", inputs, outputs, false);
  if (kind != Convolution::gat) return;
  double bound = std::sqrt(6.0 / static_cast<double>(outputs / heads + heads));
  a_source_ = &maker.uniform(name + ".a_source", 1, outputs, bound);
  a_query_ = &maker.uniform(name + ".a_query", 1, outputs, bound);
}

Var ConvolutionLayer::operator()(Tape& tape, size_t l, const LayerInput& in,
                                 const Neighbourhood& neighbourhood) const {
  Var s = in.apply(tape, linear_);
  Var bias = tape.parameter(*bias_);
  if (kind_ == Convolution::gcn)
    return add_row(tape, neighbourhood.normalized_sum(tape, l, s), bias);
  if (kind_ == Convolution::sage) {
    Var mean = add_row(tape, neighbourhood.mean(tape, l, s), bias);
    return add(tape, mean, in.apply_to_queries(tape, own_, l, neighbourhood));
  }
  Var source = head_products(tape, s, tape.parameter(*a_source_), heads_);
  Var query =
      head_products(tape, neighbourhood.queries(tape, l, s), tape.parameter(*a_query_), heads_);
  return add_row(tape, neighbourhood.attend_additively(tape, l, {s, source, query}), bias);
}

}  // namespace spex
