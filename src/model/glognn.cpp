// H0 = dropout(relu(delta (X W1 + b) + (1 - delta) A W3)) W2 + b;  H = H0;  g = 1 - gamma,
// c = 1 / (alpha + beta).  L times:
//   S = Ht H;  M = (I / g^2 + c S)^-1;  R = g c H - g c^2 H M S;  T = Ht R
//   H = g H T + beta sum_k lambda_k Ahat^k R - gamma g H0 T + gamma H0
// logits = H. A is the graph with self-loops, W3 has a row for each node.
#include "model/glognn.h"

#include <spex/core/error.h>
#include <spex/ops/aggregate.h>
#include <spex/ops/elementwise.h>
#include <spex/ops/products.h>
#include <spex/ops/rows.h>

#include <cmath>

namespace spex {
namespace {

class GloGnn : public Model {
 public:
  GloGnn(const Shape& shape, const GloGnnOptions& options, uint64_t seed)
      : Model(shape), options_(options) {
    Maker maker{*this, seed};
    features_ = Linear(maker, "features", shape.inputs, options.width, true);
    if (options.delta < 1)
      graph_rows_ = &maker.uniform("graph_rows", shape.nodes, options.width,
                                   1.0 / std::sqrt(static_cast<double>(shape.nodes)));
    start_ = Linear(maker, "start", options.width, shape.outputs, true);
    for (size_t k = 0; k < options.orders; ++k)
      orders_.push_back(&maker.constant(fmt::format("orders.{}", k), 1, 1,
                                        1.0F / static_cast<float>(options.orders)));
  }

  Var forward(Tape& tape, const ModelInput& input, const Neighbourhood& neighbourhood,
              const Pass& pass) override {
    Var h0 = start(tape, input, neighbourhood, pass);
    inspect(pass, "the start", h0);
    Var h = h0;
    for (size_t l = 0; l < options_.layers; ++l) {
      h = combine_nodes(tape, h, h0, neighbourhood);
      inspect(pass, fmt::format("layer {}", l + 1), h);
    }
    return h;
  }

 private:
  Var start(Tape& tape, const ModelInput& input, const Neighbourhood& neighbourhood,
            const Pass& pass) const {
    Var x = features_(tape, input);
    if (graph_rows_) {
      // A part of the graph, when a plan is made, has fewer nodes than the model.
      Var rows = first_rows(tape, tape.parameter(*graph_rows_), input.rows());
      rows = aggregate(tape, rows, *neighbourhood.layer(0).local);
      auto delta = static_cast<float>(options_.delta);
      x = combine(tape, x, delta, rows, 1.0F - delta);
    }
    float rate = pass.training ? static_cast<float>(options_.dropout) : 0.0F;
    return start_(tape, relu_dropped(tape, x, rate, dropout_random(pass, 0)));
  }

  Var combine_nodes(Tape& tape, const Var& h, const Var& h0,
                    const Neighbourhood& neighbourhood) const {
    double g = 1.0 - options_.gamma, c = 1.0 / (options_.alpha + options_.beta);
    auto number = [](double value) { return static_cast<float>(value); };
    Var squares = cross_product(tape, h, h);
    Var m = inverse(
        tape, combine(tape, identity(tape, h.cols()), number(1.0 / (g * g)), squares, number(c)));
    Var r = combine(tape, h, number(g * c), linear(tape, h, linear(tape, m, squares)),
                    number(-g * c * c));
    Var t = cross_product(tape, h, r);
    Var own = linear(tape, combine(tape, h, number(g), h0, number(-options_.gamma * g)), t);
    own = combine(tape, own, 1.0F, h0, number(options_.gamma));
    for (size_t k = 0; k < orders_.size(); ++k) {
      r = neighbourhood.normalized_sum(tape, 0, r);
      Var weighted = scale(tape, r, tape.parameter(*orders_[k]));
      own = combine(tape, own, 1.0F, weighted, number(options_.beta));
    }
    return own;
  }

  static Var identity(const Tape& tape, size_t size) {
    Matrix one = Matrix::zeros(size, size, MemoryTag::activations);
    for (size_t i = 0; i < size; ++i) one(i, i) = 1.0F;
    return tape.constant(std::move(one));
  }

  GloGnnOptions options_;
  Linear features_, start_;
  Parameter* graph_rows_ = nullptr;
  std::vector<Parameter*> orders_;
};

}  // namespace

void GloGnnOptions::list(SettingList& s) {
  s.add("width", width, {1, 8192}, "features per node before the start");
  s.add("layers", layers, {1, 100}, "combinations of all nodes");
  s.add("orders", orders, {1, 100}, "hops that the coefficients are kept close to");
  s.add("alpha", alpha, {0, 1e9}, "how strongly coefficients are pulled to zero");
  s.add("beta", beta, {0, 1e9}, "how strongly coefficients are pulled to the hops");
  s.add("gamma", gamma, {0, 1, Range::below}, "share of the start in every layer");
  s.add("delta", delta, {0, 1}, "share of the features in the start; 1: the graph's rows are not");
  s.add("dropout", dropout, {0, 1, Range::below}, "share of activations dropped in training");
}

void GloGnnOptions::check() const {
  require(alpha + beta > 0, "alpha and beta cannot both be 0");
}

Needs GloGnnOptions::needs() const {
  Needs needs;
  needs.local = true;
  needs.every_row = true;
  needs.own_nodes = delta < 1;
  needs.layers = 1;
  return needs;
}

std::unique_ptr<Model> GloGnnOptions::make(const Shape& shape, uint64_t seed) const {
  return std::make_unique<GloGnn>(shape, *this, seed);
}

}  // namespace spex
