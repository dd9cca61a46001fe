#include <spex/model/attention_plan.h>
#include <spex/ops/rows.h>

namespace spex {
namespace {

// The plan, but layer `last` computes `nodes` only, by `attend`.
AttentionPlan with_last(AttentionPlan plan, size_t last, std::span<const NodeId> nodes,
                        AttentionPlan::Attend attend) {
  plan.queries = [last, nodes, all = plan.queries](Tape& tape, size_t layer, const Var& x) {
    return layer == last ? gather_rows(tape, x, nodes) : all(tape, layer, x);
  };
  plan.attend = [last, some = std::move(attend), all = plan.attend](
                    Tape& tape, size_t layer, const AttentionInputs& in,
                    const AttentionOptions& options) {
    return (layer == last ? some : all)(tape, layer, in, options);
  };
  plan.virtual_nodes = 0;
  return plan;
}

}  // namespace

AttentionPlan full_attention(const AttentionGraph& graph, const AttentionGraph& transposed) {
  AttentionPlan plan;
  plan.queries = [](Tape&, size_t, const Var& x) { return x; };
  plan.attend = [&](Tape& tape, size_t, const AttentionInputs& in,
                    const AttentionOptions& options) {
    return sparse_attention(tape, in, graph, transposed, options);
  };
  plan.types = graph.types;
  plan.virtual_nodes = graph.virtual_nodes;
  return plan;
}

AttentionPlan full_attention(const AttentionGraph& graph, const AttentionGraph& transposed,
                             size_t last, const ChosenRows& chosen) {
  return with_last(
      full_attention(graph, transposed), last, chosen.nodes,
      [&](Tape& tape, size_t, const AttentionInputs& in, const AttentionOptions& options) {
        return sparse_attention(tape, in, graph, chosen, options);
      });
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
  AttentionPlan plan;
  plan.queries = [layers](Tape& tape, size_t layer, const Var& x) {
    return first_rows(tape, x, layers[layer].queries);
  };
  plan.attend = [layers](Tape& tape, size_t layer, const AttentionInputs& in,
                         const AttentionOptions& options) {
    return regular_attention(tape, in, layers[layer], options);
  };
  if (!layers.empty()) plan.types = layers[0].types;
  plan.sampled = true;
  return plan;
}

AttentionPlan sampled_attention(std::span<const NeighbourMatrix> layers,
                                const NeighbourMatrix& pattern, std::span<const NodeId> nodes) {
  return with_last(
      sampled_attention(layers), layers.size() - 1, nodes,
      [&pattern](Tape& tape, size_t, const AttentionInputs& in, const AttentionOptions& options) {
        return regular_attention(tape, in, pattern, options);
      });
}

}  // namespace spex
