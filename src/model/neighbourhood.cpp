#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/model/neighbourhood.h>
#include <spex/ops/aggregate.h>
#include <spex/ops/rows.h>

#include <cmath>

namespace spex {
namespace {

constexpr size_t kBlock = 16384;

float row_size(const AttentionGraph& graph, size_t node) {
  return static_cast<float>(graph.offsets[node + 1] - graph.offsets[node]);
}

// value(i) for each of `count`.
template <class Value>
Buffer<float> numbers(size_t count, Value&& value) {
  Buffer<float> out(count, MemoryTag::graph);
  parallel_for(count, kBlock, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) out[i] = value(i);
  });
  return out;
}

Var attend_pattern(Tape& tape, const AttentionInputs& in, const Pattern& pattern,
                   const AttentionOptions& options) {
  if (pattern.sample) return regular_attention(tape, in, *pattern.sample, options);
  if (pattern.chosen) return sparse_attention(tape, in, *pattern.graph, *pattern.chosen, options);
  return sparse_attention(tape, in, *pattern.graph, *pattern.transposed, options);
}

const Neighbourhood::Layer& local_layer(const Neighbourhood& neighbourhood, size_t l) {
  const Neighbourhood::Layer& layer = neighbourhood.layer(l);
  require(layer.local.has_value(), "a model that aggregates was given no graph");
  return layer;
}

// `query_factors` are of all rows of the graph, or of those the layer computes.
AggregateWeights weights_of(const Neighbourhood::Layer& layer, const Buffer<float>& query_factors) {
  AggregateWeights weights;
  weights.per_query = query_factors.span().subspan(layer.first, layer.queries());
  weights.per_edge = layer.edge_weights;
  weights.per_edge_transposed = layer.edge_weights_back;
  return weights;
}

Neighbourhood::Layer whole_layer(const Graphs& graphs) {
  Neighbourhood::Layer layer;
  if (graphs.attention) layer.attention = Pattern::all_rows(*graphs.attention, *graphs.transposed);
  if (graphs.local) {
    layer.local = Pattern::all_rows(*graphs.local, *graphs.local);
    layer.factors = std::make_shared<const LocalFactors>(local_factors(*graphs.local));
  }
  return layer;
}

Neighbourhood::Layer chosen_layer(const Graphs& graphs, const ChosenGraphs& chosen) {
  Neighbourhood::Layer layer;
  if (graphs.attention) {
    layer.attention = Pattern::chosen_rows(*graphs.attention, chosen.attention);
    layer.chosen = chosen.attention.nodes;
  }
  if (graphs.local) {
    layer.local = Pattern::chosen_rows(*graphs.local, chosen.local);
    layer.chosen = chosen.local.nodes;
    layer.factors =
        std::make_shared<const LocalFactors>(local_factors(*graphs.local, layer.chosen));
  }
  return layer;
}

}  // namespace

LocalFactors local_factors(const AttentionGraph& local, std::span<const NodeId> queries) {
  auto node = [&](size_t i) { return queries.empty() ? i : queries[i]; };
  size_t count = queries.empty() ? local.nodes() : queries.size();
  auto root = [&](size_t i) { return 1.0F / std::sqrt(row_size(local, i)); };
  return {numbers(local.nodes(), root), numbers(count, [&](size_t i) { return root(node(i)); }),
          numbers(count, [&](size_t i) { return 1.0F / row_size(local, node(i)); })};
}

LocalFactors local_factors(const AttentionGraph& local, const NeighbourMatrix& sample,
                           std::span<const NodeId> nodes) {
  auto size = [&](size_t i) { return row_size(local, nodes[i]); };
  auto count = [&](size_t i) { return static_cast<float>(sample.count(i)); };
  return {numbers(sample.sources, [&](size_t i) { return 1.0F / std::sqrt(size(i)); }),
          numbers(sample.queries, [&](size_t i) { return std::sqrt(size(i)) / count(i); }),
          numbers(sample.queries, [&](size_t i) { return 1.0F / count(i); })};
}

Neighbourhood Neighbourhood::row_range(size_t l, size_t first, size_t count) const {
  const Layer& whole = layer(l);
  require(whole.local && whole.local->transposed && !whole.attention && whole.edge_weights.empty(),
          "only sums over all edges of a whole graph can be computed a part at a time");
  Neighbourhood part;
  Layer& at = part.layers.emplace_back();
  at.local = Pattern::row_range(*whole.local->graph, first, count);
  at.factors = whole.factors;
  at.first = first;
  return part;
}

Var Neighbourhood::queries(Tape& tape, size_t l, const Var& x) const {
  if (layers.empty()) return x;
  const Layer& at = layer(l);
  if (!at.chosen.empty()) return gather_rows(tape, x, at.chosen);
  if (at.first > 0) return tape.constant(x.value().block(at.first, at.queries()));
  return first_rows(tape, x, at.queries());
}

Var Neighbourhood::attend(Tape& tape, size_t l, const AttentionInputs& in,
                          const AttentionOptions& options) const {
  const Layer& at = layer(l);
  require(at.attention.has_value(), "a model that attends was given no attention graph");
  if (!scores.empty()) sparse_attention_scores(scores[l].span(), in, *at.attention->graph, options);
  return attend_pattern(tape, in, *at.attention, options);
}

Var Neighbourhood::normalized_sum(Tape& tape, size_t l, const Var& x) const {
  const Layer& at = local_layer(*this, l);
  AggregateWeights weights = weights_of(at, at.factors->symmetric);
  weights.per_source = at.factors->source.span();
  return aggregate(tape, x, *at.local, weights);
}

Var Neighbourhood::mean(Tape& tape, size_t l, const Var& x) const {
  const Layer& at = local_layer(*this, l);
  return aggregate(tape, x, *at.local, weights_of(at, at.factors->mean));
}

Var Neighbourhood::add_mean(Tape& tape, size_t l, Var y, const Var& x) const {
  const Layer& at = local_layer(*this, l);
  return add_aggregate(tape, std::move(y), x, *at.local, weights_of(at, at.factors->mean));
}

Var Neighbourhood::attend_additively(Tape& tape, size_t l, const AdditiveInputs& in) const {
  return additive_attention(tape, in, *local_layer(*this, l).local);
}

Neighbourhood whole_neighbourhood(const Graphs& graphs) {
  Neighbourhood whole;
  if (graphs.attention || graphs.local) whole.layers.push_back(whole_layer(graphs));
  if (graphs.attention) {
    whole.types = graphs.attention->types;
    whole.virtual_nodes = graphs.attention->virtual_nodes;
  }
  return whole;
}

ChosenGraphs choose_rows(const Graphs& graphs, const std::vector<NodeId>& nodes) {
  ChosenGraphs chosen;
  if (graphs.attention) chosen.attention = choose_rows(*graphs.transposed, nodes);
  if (graphs.local) chosen.local = choose_rows(*graphs.local, nodes);
  return chosen;
}

Neighbourhood whole_neighbourhood(const Graphs& graphs, size_t layers, const ChosenGraphs& chosen) {
  Neighbourhood part = whole_neighbourhood(graphs);
  if (part.layers.empty()) return part;
  part.layers.resize(layers - 1, part.layers.front());
  part.layers.push_back(chosen_layer(graphs, chosen));
  part.virtual_nodes = 0;
  return part;
}

Neighbourhood sampled_neighbourhood(std::span<const NeighbourMatrix> attention,
                                    std::span<const NeighbourMatrix> local,
                                    const AttentionGraph* local_graph,
                                    std::span<const NodeId> nodes) {
  Neighbourhood batch;
  batch.sampled = true;
  batch.layers.resize(std::max(attention.size(), local.size()));
  for (size_t l = 0; l < attention.size(); ++l)
    batch.layers[l].attention = Pattern::sampled(attention[l]);
  for (size_t l = 0; l < local.size(); ++l) {
    batch.layers[l].local = Pattern::sampled(local[l]);
    batch.layers[l].factors =
        std::make_shared<const LocalFactors>(local_factors(*local_graph, local[l], nodes));
  }
  if (!attention.empty()) batch.types = attention[0].types;
  return batch;
}

}  // namespace spex
