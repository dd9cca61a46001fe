// The networks of the paper, which are one network with different options: the attention score
// estimator (narrow, one head, normalised values, temperature), the final Spexphormer (wide, over
// sampled neighbours) and Exphormer (wide, over all edges).
//
//   x = encoder(features), then pre-layers
//   L times:  y = norm(x + dropout(attention(x))),  x = norm(y + dropout(W2 dropout(relu(W1 y))))
//   post-layers, then a linear head
//
// What attention knows of an edge is a vector: a learned one for each type and, where the graph's
// edges have features, for those the sum of the type's and a linear map of the features. E and B of
// a layer are linear maps of it.
#pragma once

#include <spex/model/layers.h>

#include <deque>
#include <functional>

namespace spex {

// How an edge's type enters the score: elementwise in k * q (the paper), or through the sum of E's
// entries (the authors' program).
enum class Modulation { elementwise, sum };
const Words<Modulation>& modulation_words();

struct TransformerOptions {
  size_t width = 32;
  size_t heads = 4;
  size_t layers = 4;
  size_t pre_layers = 1;   // linear, batch norm, ReLU, rows normalised
  size_t post_layers = 0;  // the same, behind the last layer
  Norm norm = Norm::batch;
  double dropout = 0;
  bool normalize_values = false;  // v <- s v / |v|, s learned
  bool scale_by_width = false;    // scores / sqrt(D)
  float clamp = 8.0F;
  bool clamp_first = false;  // scores are clamped before the temperature divides them, not after
  bool type_bias = true;     // B
  double expander_bias = 0;  // added to B of expander edges, where training starts from
  Modulation modulation = Modulation::elementwise;
  bool log_scores = false;   // a learned weight on the estimator's log-scores
  bool recompute = false;    // keep only the layers' inputs and run each part again in backward
  size_t virtual_nodes = 0;  // learned inputs for the last so many nodes
};
void check_heads(size_t width, size_t heads);  // throws unless they divide the width

class Transformer : public Model {
 public:
  Transformer(const Shape& shape, const TransformerOptions& options, uint64_t seed);

  Var forward(Tape& tape, const ModelInput& input, const Neighbourhood& neighbourhood,
              const Pass& pass) override;

 private:
  struct Layer {
    Linear q, k, v, modulation, bias;
    Parameter* value_scale = nullptr;
    Parameter* log_score_weight = nullptr;
    NormLayer norm1, norm2;
    FeedForwardLayer feed_forward;
  };

  Layer make_layer(Maker maker, const std::string& name) const;
  Var encode(Tape& tape, const ModelInput& input) const;
  void add_edges(Tape& tape, const Layer& layer, AttentionInputs& in) const;
  Var attend(Tape& tape, size_t index, const Var& x, const Var& queries,
             const Neighbourhood& neighbourhood, const Pass& pass) const;
  Var run_layer(Tape& tape, size_t index, const Var& x, const Neighbourhood& neighbourhood,
                const Pass& pass) const;
  Var run_front(Tape& tape, const ModelInput& input, const Pass& pass) const;
  using Part = std::function<Var(Tape&, const Var& x, const Pass&)>;
  static Var run_twice(Tape& tape, const Var& x, const Pass& pass, const Part& part);

  TransformerOptions options_;
  Linear encoder_, head_;
  Parameter* type_embedding_ = nullptr;
  Parameter* edge_encoder_ = nullptr;  // or none
  Parameter* virtual_embedding_ = nullptr;
  Matrix ones_;        // for Modulation::sum
  Matrix start_bias_;  // types x heads, added to B; empty: zeros
  std::deque<Dense> pre_, post_;
  std::deque<Layer> layers_;
};

}  // namespace spex
