#include <spex/model/attention_plan.h>

namespace spex {

AttentionPlan full_attention(const AttentionGraph& graph, const AttentionGraph& transposed) {
  return {[&](size_t) { return graph.nodes(); },
          [&](Tape& tape, size_t, const AttentionInputs& in, const AttentionOptions& options) {
            return sparse_attention(tape, in, graph, transposed, options);
          },
          graph.types};
}

AttentionPlan scoring_attention(const AttentionGraph& graph, const AttentionGraph& transposed,
                                std::span<Buffer<Half>> scores) {
  AttentionPlan plan = full_attention(graph, transposed);
  plan.attend = [&graph, &transposed, scores](Tape& tape, size_t layer, const AttentionInputs& in,
                                              const AttentionOptions& options) {
    sparse_attention_scores(scores[layer].span(), in, graph, options);
    return sparse_attention(tape, in, graph, transposed, options);
  };
  return plan;
}

AttentionPlan sampled_attention(std::span<const NeighbourMatrix> layers) {
  return {[layers](size_t layer) { return layers[layer].queries; },
          [layers](Tape& tape, size_t layer, const AttentionInputs& in,
                   const AttentionOptions& options) {
            return regular_attention(tape, in, layers[layer], options);
          },
          layers.empty() ? 3 : layers[0].types, true};
}

}  // namespace spex
