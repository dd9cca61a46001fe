// Calls the kernels (attention_kernels.h) on padded rows (attention_rows.h) in fixed blocks.
#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/ops/attention.h>

#include "ops/attention_call.h"
#include "ops/attention_rows.h"

namespace spex {
namespace {

// Output and normalisers of all queries, padded.
struct Forward {
  Matrix out, inverse_sum;

  Forward(const AttentionInputs& in, const AttentionCall& call)
      : out(call.rows.rows, call.layout.row(), MemoryTag::activations),
        inverse_sum(call.rows.rows, call.layout.heads, MemoryTag::activations) {
    AttentionCoefficients c(in, call);
    Table table(call.keys(in.k.value()), call.values(in.k.value(), in.v.value()), call.layout);
    PaddedRows q(in.q.value(), call.layout.vectors, call.layout.padded);
    AttentionForward forward{kernel_view(call, call.rows, table.view(), c), q.data(), out.data(),
                             inverse_sum.data()};
    parallel_for(out.rows(), kAttentionBlockRows, [&](size_t begin, size_t end) {
      SPEX_CALL(attention_forward, forward, begin, end);
    });
  }
};

// `transposed_view` makes the pattern of the keys' neighbours when backward needs it.
template <class TransposedView>
Var attention(Tape& tape, const AttentionInputs& in, const AttentionCall& call,
              TransposedView&& transposed_view) {
  Forward forward(in, call);
  auto value = Tape::share(unpadded(std::move(forward.out), call.layout.heads, call.layout.width,
                                    MemoryTag::activations));
  // Kept for backward: q, k, v, the output and one normaliser per query and head.
  auto kept = std::make_shared<KeptAttention>();
  kept->q = in.q.keep();
  kept->k = in.k.keep();
  kept->v = in.v.keep();
  kept->out = value;
  kept->in = in;
  kept->inverse_sum = std::move(forward.inverse_sum);
  return tape.result_owning(std::move(value),
                            {in.q, in.k, in.v, in.modulation, in.bias, in.log_score_weight,
                             in.edge_modulation, in.edge_bias},
                            [call, kept, transposed_view](Matrix dout) {
                              give_attention_gradients(call, transposed_view(), *kept,
                                                       std::move(dout));
                            });
}

// Calls write(first edge, scores of those rows) for blocks of rows, in parallel.
template <class Write>
void for_score_blocks(const AttentionInputs& in, const AttentionGraph& graph,
                      const AttentionOptions& options, Write&& write) {
  AttentionCall call = make_call(in, view_of(graph, in), graph.nodes(), options);
  AttentionCoefficients c(in, call);
  Table table(call.keys(in.k.value()), call.values(in.k.value(), in.v.value()), call.layout);
  PaddedRows q(in.q.value(), call.layout.vectors, call.layout.padded);
  parallel_for(graph.nodes(), kAttentionBlockRows, [&](size_t begin, size_t end) {
    EdgeOffset first = graph.offsets[begin];
    size_t edges = graph.offsets[end] - first;
    if (edges == 0) return;
    Buffer<float> scores(edges * call.layout.heads, MemoryTag::scores);
    AttentionScores s{kernel_view(call, call.rows, table.view(), c), q.data(), scores.data(),
                      first};
    SPEX_CALL(attention_scores, s, begin, end);
    write(first, std::as_const(scores).span());
  });
}

}  // namespace

Var sparse_attention(Tape& tape, const AttentionInputs& in, const AttentionGraph& graph,
                     const AttentionGraph& transposed, const AttentionOptions& options) {
  require(in.v || in.joined, "attention over all edges needs values");
  require(transposed.nodes() == graph.nodes() && transposed.edges() == graph.edges(),
          "attention: the transposed graph has {} edges, the graph {}", transposed.edges(),
          graph.edges());
  AttentionCall call = make_call(in, view_of(graph, in), graph.nodes(), options);
  return attention(tape, in, call, [view = view_of(transposed, in)] { return view; });
}

Var sparse_attention(Tape& tape, const AttentionInputs& in, const AttentionGraph& graph,
                     const ChosenRows& chosen, const AttentionOptions& options) {
  require(in.v || in.joined, "attention over all edges needs values");
  require(chosen.transposed.nodes() == graph.nodes(),
          "attention: rows chosen of a graph of {} nodes, the graph has {}",
          chosen.transposed.nodes(), graph.nodes());
  PatternView rows = view_of(graph, in);
  rows.rows = chosen.nodes.size();
  rows.chosen = chosen.nodes.data();
  AttentionCall call = make_call(in, rows, graph.nodes(), options);
  return attention(tape, in, call, [view = view_of(chosen.transposed, in)] { return view; });
}

Var regular_attention(Tape& tape, const AttentionInputs& in, const NeighbourMatrix& pattern,
                      const AttentionOptions& options) {
  bool weighted = static_cast<bool>(in.log_score_weight);
  require(!weighted || !pattern.log_score.empty(), "attention: the pattern carries no log-scores");
  AttentionCall call = make_call(in, view_of(pattern, in), pattern.sources, options);
  auto transposed = std::make_shared<TransposedNeighbours>();
  return attention(tape, in, call, [transposed, &pattern, rows = call.rows] {
    *transposed = transpose(pattern);
    return view_of(*transposed, pattern.sources, rows);
  });
}

void sparse_attention_scores(std::span<float> scores, const AttentionInputs& in,
                             const AttentionGraph& graph, const AttentionOptions& options) {
  require(scores.size() == graph.edges() * options.heads,
          "attention: {} places for the scores of {} edges", scores.size(), graph.edges());
  for_score_blocks(in, graph, options, [&](EdgeOffset first, std::span<const float> part) {
    std::copy(part.begin(), part.end(),
              scores.begin() + static_cast<ptrdiff_t>(first * options.heads));
  });
}

void sparse_attention_scores(std::span<Half> scores, const AttentionInputs& in,
                             const AttentionGraph& graph, const AttentionOptions& options) {
  require(scores.size() == graph.edges() * options.heads,
          "attention: {} places for the scores of {} edges", scores.size(), graph.edges());
  for_score_blocks(in, graph, options, [&](EdgeOffset first, std::span<const float> part) {
    to_half(scores.subspan(first * options.heads, part.size()), part);
  });
}

}  // namespace spex
