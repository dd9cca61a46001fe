// Convolutions over the graph's own edges, for GNNs and for models that have one beside their
// attention. The node itself is among its neighbours.
//   GCN:  conv(x) = Ahat (x W) + b
//   SAGE: conv(x) = mean over N(i) and i of (x_j W) + b + x_i W_r
//   GAT:  s = x W; softmax over N(i) and i of leaky_relu(a_src . s_j + a_dst . s_i), times s_j; + b
#pragma once

#include <spex/model/layers.h>

namespace spex {

enum class Convolution { gcn, sage, gat };
const Words<Convolution>& convolution_words();

// What a layer reads: the features, or what the layer before computed.
struct LayerInput {
  const ModelInput* features = nullptr;  // or
  Var x;

  bool is_sparse() const { return features && features->sparse; }
  Var values(const Tape& tape) const;                 // unless they are sparse
  Var apply(Tape& tape, const Linear& linear) const;  // to all rows
  // To the rows that layer l computes.
  Var apply_to_queries(Tape& tape, const Linear& linear, size_t l,
                       const Neighbourhood& neighbourhood) const;
  // y plus that, in the buffer of y if it was handed over.
  Var add_to_queries(Tape& tape, Var y, const Linear& linear, size_t l,
                     const Neighbourhood& neighbourhood) const;

 private:
  Var before_choice(Tape& tape, size_t l, const Neighbourhood& neighbourhood) const;
};

class ConvolutionLayer {
 public:
  // What every row needs and is computed once for all of them: x W, unless the sum comes first.
  struct Sources {
    Var values;
    Var scores;  // GAT's
  };

  ConvolutionLayer(Maker maker, const std::string& name, Convolution kind, size_t inputs,
                   size_t outputs, size_t heads);
  // Of the rows that layer l computes.
  Var operator()(Tape& tape, size_t l, const LayerInput& in,
                 const Neighbourhood& neighbourhood) const {
    Var y = own(tape, l, in, neighbourhood);
    return compute(tape, l, in, std::move(y), sources(tape, l, in, neighbourhood), neighbourhood);
  }
  // The same in steps, for layers that are computed a part of the rows at a time. What a row adds
  // of itself (SAGE; else nothing) comes first: in backward it is then last, and adds to a gradient
  // that is there.
  Var own(Tape& tape, size_t l, const LayerInput& in, const Neighbourhood& neighbourhood) const;
  Sources sources(Tape& tape, size_t l, const LayerInput& in,
                  const Neighbourhood& neighbourhood) const;
  Var compute(Tape& tape, size_t l, const LayerInput& in, Var own, Sources sources,
              const Neighbourhood& neighbourhood) const;

 private:
  bool sums_first(size_t l, const LayerInput& in, const Neighbourhood& neighbourhood) const;

  Convolution kind_;
  size_t heads_;
  Linear linear_;                  // W
  Parameter* bias_ = nullptr;      // b
  Linear own_;                     // W_r
  Parameter* a_source_ = nullptr;  // GAT: one vector per head, side by side
  Parameter* a_query_ = nullptr;
};

}  // namespace spex
