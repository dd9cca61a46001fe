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
  if (is_sparse()) return neighbourhood.queries(tape, l, linear(tape, *features));
  return linear(tape, before_choice(tape, l, neighbourhood), neighbourhood.chosen(l));
}

Var LayerInput::add_to_queries(Tape& tape, Var y, const Linear& linear, size_t l,
                               const Neighbourhood& neighbourhood) const {
  if (is_sparse()) return add(tape, std::move(y), apply_to_queries(tape, linear, l, neighbourhood));
  return linear.add_to(tape, std::move(y), before_choice(tape, l, neighbourhood),
                       neighbourhood.chosen(l));
}

// The rows that layer l computes; all, if a product is to choose among them.
Var LayerInput::before_choice(Tape& tape, size_t l, const Neighbourhood& neighbourhood) const {
  bool chosen = !neighbourhood.chosen(l).empty();
  return chosen ? values(tape) : neighbourhood.queries(tape, l, values(tape));
}

Var LayerInput::values(const Tape& tape) const {
  return features ? tape.constant(features->dense) : x;
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

// Summing first is the same, and cheaper where a batch has many sources to a query, or where the
// features are narrow: constants need no gradient, so nothing is summed in backward. But the sums
// are kept for it, so wider ones would be a table more.
bool ConvolutionLayer::sums_first(size_t l, const LayerInput& in,
                                  const Neighbourhood& neighbourhood) const {
  const std::optional<Pattern>& pattern = neighbourhood.layer(l).local;
  if (in.is_sparse() || !pattern) return false;
  bool many_sources = pattern->sources() > 2 * pattern->queries();
  return many_sources ||
         (in.features && 2 * in.features->dense.cols <= linear_.weight->value.cols());
}

ConvolutionLayer::Sources ConvolutionLayer::sources(Tape& tape, size_t l, const LayerInput& in,
                                                    const Neighbourhood& neighbourhood) const {
  Sources sources;
  bool gat = kind_ == Convolution::gat;
  if (!gat && sums_first(l, in, neighbourhood)) return sources;
  sources.values = in.apply(tape, linear_);
  if (gat) sources.scores = head_products(tape, sources.values, tape.parameter(*a_source_), heads_);
  return sources;
}

Var ConvolutionLayer::own(Tape& tape, size_t l, const LayerInput& in,
                          const Neighbourhood& neighbourhood) const {
  return own_ ? in.apply_to_queries(tape, own_, l, neighbourhood) : Var{};
}

Var ConvolutionLayer::compute(Tape& tape, size_t l, const LayerInput& in, Var own, Sources sources,
                              const Neighbourhood& neighbourhood) const {
  Var bias = tape.parameter(*bias_), weight = tape.parameter(*linear_.weight);
  switch (kind_) {
    case Convolution::gat: {
      Var seen = neighbourhood.queries(tape, l, sources.values);
      Var query = head_products(tape, seen, tape.parameter(*a_query_), heads_);
      AdditiveInputs attention{sources.values, sources.scores, query};
      return add_row(tape, neighbourhood.attend_additively(tape, l, attention), bias);
    }
    case Convolution::gcn: {
      if (!sources.values)
        return linear(tape, neighbourhood.normalized_sum(tape, l, in.values(tape)), weight, bias);
      Var y = neighbourhood.normalized_sum(tape, l, sources.values);
      sources = {};
      return add_row(tape, std::move(y), bias);
    }
    case Convolution::sage: {
      if (!sources.values)
        return add_linear(tape, std::move(own), neighbourhood.mean(tape, l, in.values(tape)),
                          weight, bias);
      Var y = neighbourhood.add_mean(tape, l, std::move(own), sources.values);
      sources = {};
      return add_row(tape, std::move(y), bias);
    }
  }
  fail("no such convolution: {}", static_cast<int>(kind_));
}

}  // namespace spex
