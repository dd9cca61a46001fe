// pre: x = dropout(X W + b)
// L times: x = dropout(relu(norm(conv(x) + x R + r)));  logits = x W + b
//   GCN:  conv(x) = Ahat (x W) + b
//   SAGE: conv(x) = mean over N(i) and i of x_j, times W, + b, + x_i W_r
//   GAT:  s = x W; softmax over N(i) and i of leaky_relu(a_src . s_j + a_dst . s_i); heads side by
//         side
#include "model/gnn.h"

#include <spex/core/error.h>
#include <spex/model/transformer.h>
#include <spex/ops/elementwise.h>

#include <cmath>
#include <deque>

namespace spex {
namespace {

class Gnn : public Model {
 public:
  Gnn(const Shape& shape, const GnnOptions& options, uint64_t seed)
      : Model(shape), options_(options) {
    Maker maker{*this, seed};
    size_t inputs = shape.inputs;
    if (options.pre_linear) {
      pre_ = Linear(maker, "pre", inputs, options.width, true);
      inputs = options.width;
    }
    for (size_t i = 0; i < options.layers; ++i, inputs = options.width) {
      std::string name = fmt::format("layers.{}.", i);
      layers_.emplace_back(maker, name + "conv", options.convolution, inputs, options.width,
                           options.heads);
      if (options.residual)
        residual_.emplace_back(maker, name + "residual", inputs, options.width, true);
      norm_.emplace_back(maker, name + "norm", options.norm, options.width);
    }
    head_ = Linear(maker, "head", inputs, shape.outputs, true);
  }

 private:
  GnnOptions options_;
  Linear pre_, head_;
  std::deque<ConvolutionLayer> layers_;
  std::deque<Linear> residual_;
  std::deque<NormLayer> norm_;
};

}  // namespace
}  // namespace spex
