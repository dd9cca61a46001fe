// x = dropout(relu(X W + b))
// local:   softmax over the ball of q_i . k_j / sqrt(D) + b[distance], times v_j
// global:  softmax over the centroids c_m of q_i . k(c_m) / sqrt(D) + log(size_m), times v(c_m)
// y = [local, global];  twice y = dropout(relu(BN(y W + b)));  logits = y W + b
// In training the centroids then move towards the x of the nodes that the step computed.
#include "model/goat.h"

#include <spex/core/error.h>
#include <spex/model/transformer.h>
#include <spex/ops/dense_attention.h>
#include <spex/ops/elementwise.h>
#include <spex/ops/rows.h>

#include <algorithm>
#include <cmath>

#include "model/codebook.h"

namespace spex {
namespace {

constexpr size_t kNodesPerCentroid = 8;

size_t centroid_count(const GoatOptions& options, size_t nodes) {
  return std::clamp<size_t>(nodes / kNodesPerCentroid, 1, options.centroids);
}

struct Attention {
  Linear q, k, v;
  Attention(Maker maker, const std::string& name, size_t width)
      : q(maker, name + "q", width, width, true),
        k(maker, name + "k", width, width, true),
        v(maker, name + "v", width, width, true) {}
};

class Goat : public Model {
 public:
  Goat(const Shape& shape, const GoatOptions& options, uint64_t seed)
      : Model(shape),
        options_(options),
        maker_{*this, seed},
        encoder_(maker_, "encoder", shape.inputs, options.width, true),
        local_(maker_, "local.", options.width),
        distance_bias_(maker_.zeros("local.distance_bias", shape.edge_types, options.heads)),
        global_(maker_, "global.", options.width),
        codebook_(maker_, "global", centroid_count(options, shape.nodes), options.width,
                  options.centroid_decay),
        mix_(maker_, "mix", 2 * options.width, options.width, true),
        mix_norm_(maker_, "mix_norm", Norm::batch, options.width),
        out_(maker_, "out", options.width, options.width, true),
        out_norm_(maker_, "out_norm", Norm::batch, options.width),
        head_(maker_, "head", options.width, shape.outputs, true) {}

  Var forward(Tape& tape, const ModelInput& input, const Neighbourhood& neighbourhood,
              const Pass& pass) override {
    Var x = relu_dropped(tape, encoder_(tape, input), options_.dropout, pass, 0);
    inspect(pass, "the node encoder", x);
    Var queries = neighbourhood.queries(tape, 0, x);
    if (pass.training) codebook_.begin(queries.value());
    Var y = concatenate(tape, attend_locally(tape, x, queries, neighbourhood),
                        attend_globally(tape, queries));
    inspect(pass, "the attention", y);
    if (pass.training && !pass.repeated) codebook_.update(queries.value());
    x = queries = {};
    y = mix_norm_(tape, mix_(tape, y), pass);
    y = relu_dropped(tape, std::move(y), options_.dropout, pass, 1);
    y = out_norm_(tape, out_(tape, y), pass);
    y = relu_dropped(tape, std::move(y), options_.dropout, pass, 2);
    Var logits = head_(tape, y);
    inspect(pass, "the output layer", logits);
    return logits;
  }

 private:
  Var attend_locally(Tape& tape, const Var& x, const Var& queries,
                     const Neighbourhood& neighbourhood) const {
    AttentionInputs in;
    in.q = local_.q(tape, queries);
    in.k = local_.k(tape, x);
    in.v = local_.v(tape, x);
    in.bias = tape.parameter(distance_bias_);
    AttentionOptions options;
    options.heads = options_.heads;
    return neighbourhood.attend(tape, 0, in, options);
  }

  Var attend_globally(Tape& tape, const Var& queries) {
    Var centroids = tape.constant(codebook_.centroids());
    AllPairsOptions options;
    options.scale = 1.0F / std::sqrt(static_cast<float>(options_.width / options_.heads));
    options.key_bias = codebook_.log_sizes();
    return all_pairs_attention(tape, global_.q(tape, queries), global_.k(tape, centroids),
                               global_.v(tape, centroids), options_.heads, options);
  }

  GoatOptions options_;
  Maker maker_;
  Linear encoder_;
  Attention local_;
  Parameter& distance_bias_;
  Attention global_;
  Codebook codebook_;
  Linear mix_;
  NormLayer mix_norm_;
  Linear out_;
  NormLayer out_norm_;
  Linear head_;
};

}  // namespace

void GoatOptions::list(SettingList& s) {
  s.add("width", width, {1, 1024}, "features per node, all heads together");
  s.add("heads", heads, {1, 64}, "attention heads");
  s.add("fan_out", fan_out, {1, 1000},
        "neighbours that the ball of a node has of each node, by distance, nearest first");
  s.add("neighbours", neighbours, {1, 65535}, "nodes of the ball drawn for a step");
  s.add("centroids", centroids, {1, 65536},
        "centroids of all nodes; no more than one for eight nodes");
  s.add("centroid_decay", centroid_decay, {0, 1, Range::below},
        "what a step leaves of the centroids");
  s.add("dropout", dropout, {0, 1, Range::below}, "share of activations dropped in training");
}

void GoatOptions::check() const {
  check_heads(width, heads);
  require(!fan_out.empty() && fan_out.size() < kMaxEdgeTypes,
          "fan_out must have 1 to {} numbers, one for each distance; it has {}", kMaxEdgeTypes - 1,
          fan_out.size());
}

Needs GoatOptions::needs() const {
  Needs needs;
  needs.attention = true;
  needs.ball = fan_out;
  needs.layers = 1;
  needs.row_floats = 2 * width;
  needs.batching = Batching::sampled;
  needs.sampling.kind = Sampling::uniform;
  needs.sampling.degrees = {neighbours};
  return needs;
}

std::unique_ptr<Model> GoatOptions::make(const Shape& shape, uint64_t seed) const {
  return std::make_unique<Goat>(shape, *this, seed);
}

}  // namespace spex
