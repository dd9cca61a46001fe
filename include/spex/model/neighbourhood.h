// Who sees whom, layer by layer: over a whole graph, or in a batch. Attention runs on the attention
// graph (the graph's edges, expander edges, self-loops); aggregation on the graph's own edges, made
// undirected, with self-loops. Either may be absent.
#pragma once

#include <spex/core/half.h>
#include <spex/graph/pattern.h>
#include <spex/ops/additive_attention.h>
#include <spex/ops/attention.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace spex {

// What sums over a local pattern are multiplied by, d_j being the size of j's row in the whole
// graph and c_i what a sample has of query i's: a sampled sum stands for the whole row.
struct LocalFactors {
  Buffer<float> source;     // 1 / sqrt(d_j)
  Buffer<float> symmetric;  // per query sqrt(d_i) / c_i, which is 1 / sqrt(d_i) where all are there
  Buffer<float> mean;       // per query 1 / c_i
};
// Query i is node i, or node queries[i].
LocalFactors local_factors(const AttentionGraph& local, std::span<const NodeId> queries = {});
// `nodes` says which node of the graph each source of the sample is.
LocalFactors local_factors(const AttentionGraph& local, const NeighbourMatrix& sample,
                           std::span<const NodeId> nodes);

// The two graphs that models look at; null: not needed. Both must outlive what is made of them.
struct Graphs {
  const AttentionGraph* attention = nullptr;
  const AttentionGraph* transposed = nullptr;  // of `attention`
  const AttentionGraph* local = nullptr;       // symmetric: the graph's own edges and self-loops
};

// The parts in which large graphs are evaluated: enough that a part is small beside a table.
inline constexpr size_t kRowParts = 32;

struct Neighbourhood {
  struct Layer {
    std::optional<Pattern> attention, local;
    std::shared_ptr<const LocalFactors> factors;  // of `local`
    std::span<const float> edge_weights;          // of `local` with all rows; empty: ones
    std::span<const float> edge_weights_back;     // the same in the order of the transpose
    std::span<const NodeId>
        chosen;        // the rows of its input that it computes; empty: the first ones
    size_t first = 0;  // it computes rows from here on; `factors` are of all rows
    size_t queries() const { return attention ? attention->queries() : local->queries(); }
  };
  std::vector<Layer> layers;  // the last one serves all further ones; none: nobody sees anybody
  size_t types = 3;           // of the attention graph's edges
  bool sampled = false;       // a batch: many more keys than queries
  size_t virtual_nodes = 0;   // the last so many rows that the last layer computes
  // In evaluation a model may compute each layer of all rows in so many parts, to save memory.
  size_t row_parts = 1;
  std::span<Buffer<Half>> scores;  // where attention leaves its normalised scores; empty: nowhere

  const Layer& layer(size_t l) const { return layers[std::min(l, layers.size() - 1)]; }
  std::span<const NodeId> chosen(size_t l) const {
    return layers.empty() ? std::span<const NodeId>{} : layer(l).chosen;
  }

  // The same, but layer l computes `count` rows of the whole local graph, from `first` on. For
  // evaluation.
  Neighbourhood row_range(size_t l, size_t first, size_t count) const;

  // The rows of its input that layer l computes. A range is a view: x must outlive it.
  Var queries(Tape& tape, size_t l, const Var& x) const;

  Var attend(Tape& tape, size_t l, const AttentionInputs& in,
             const AttentionOptions& options) const;

  Var normalized_sum(Tape& tape, size_t l, const Var& x) const;   // Ahat x
  Var mean(Tape& tape, size_t l, const Var& x) const;             // of the node and its neighbours
  Var add_mean(Tape& tape, size_t l, Var y, const Var& x) const;  // y plus that
  // GAT's attention over the node and its neighbours.
  Var attend_additively(Tape& tape, size_t l, const AdditiveInputs& in) const;
};

// All rows of the graphs in every layer.
Neighbourhood whole_neighbourhood(const Graphs& graphs);

// The same, but of `layers` layers the last computes the chosen nodes only.
struct ChosenGraphs {
  ChosenRows attention, local;  // of the graphs that there are
};
ChosenGraphs choose_rows(const Graphs& graphs, const std::vector<NodeId>& nodes);
Neighbourhood whole_neighbourhood(const Graphs& graphs, size_t layers, const ChosenGraphs& chosen);

// A batch: one sample per layer of the attention graph, of the local graph, or of both. `nodes`
// says which node of `local_graph` each source of the first layer is.
Neighbourhood sampled_neighbourhood(std::span<const NeighbourMatrix> attention,
                                    std::span<const NeighbourMatrix> local = {},
                                    const AttentionGraph* local_graph = nullptr,
                                    std::span<const NodeId> nodes = {});

}  // namespace spex
