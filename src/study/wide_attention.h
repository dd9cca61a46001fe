// The attention of a trained one-head network from its parts: inputs of each layer, queries, keys
// and what edge types add. Needed where a part is changed before the scores are made.
#pragma once

#include <spex/run/phases.h>

#include <vector>

namespace spex {

struct AttentionParts {
  Matrix q, k;        // N x width
  Matrix modulation;  // types x width
  Matrix bias;        // types x 1
  float factor = 1;   // of dot products: 1 / (T sqrt(width))
  float temperature = 1;
};

// One entry per layer.
std::vector<AttentionParts> attention_parts(Model& model, const Phase& phase, const Ground& ground,
                                            float temperature);

// Logits of every edge, before the clamp: factor * (modulation * q) . k + bias / T, with queries of
// every type and keys projected by a random matrix of `width` rows, entries N(0, 1 / width); 0: not
// projected.
struct EdgeLogits {
  std::vector<float> logits;
  std::vector<float> lengths;  // factor * |modulation * q| |k|
};
EdgeLogits edge_logits(const AttentionParts& parts, const AttentionGraph& graph, size_t width,
                       uint64_t seed);

// Logits to scores, in place: clamped, then a softmax over each row.
void to_scores(std::vector<float>& logits, const AttentionGraph& graph);

}  // namespace spex
