// The tuned GNNs: convolutions over the graph's own edges, each with a linear residual.
#pragma once

#include <spex/model/layers.h>

namespace spex {

enum class Convolution { gcn, sage, gat };

struct GnnOptions : Options<GnnOptions> {
  Convolution convolution = Convolution::gcn;
  size_t layers = 3;
  size_t width = 128;
  size_t heads = 1;  // of GAT
  bool pre_linear = false;
  bool residual = true;
  Norm norm = Norm::batch;
  double dropout = 0.5;
  double input_dropout = 0;

  static std::unique_ptr<ModelOptions> of(Convolution convolution);
  void list(SettingList& s) override;
  Needs needs() const override;
  std::unique_ptr<Model> make(const Shape& shape, uint64_t seed) const override;
  void check() const override;
};

// One convolution, for this model and for those that have one beside their attention.
class ConvolutionLayer {
 public:
  ConvolutionLayer(Maker maker, const std::string& name, Convolution kind, size_t inputs,
                   size_t outputs, size_t heads);
  // conv(x) of the rows that layer l computes; `queries` are those rows of x.
  Var operator()(Tape& tape, size_t l, const Var& x, const Var& queries,
                 const Neighbourhood& neighbourhood) const;

 private:
  Convolution kind_;
  size_t heads_;
  Linear linear_;                                 // W, b
  Linear own_;                                    // SAGE: W_r
  Parameter *a_source_ = nullptr, *a_query_ = nullptr;  // GAT
};

}  // namespace spex
