// Batches (Algorithm 2 of the paper): neighbourhoods expanded backwards through the layers. Nodes
// are renumbered so that the queries of a layer are the first of its inputs, and ascend within what
// a layer adds:
//
//   nodes  = [ targets | what the last layer needs | what the one before needs | ... ]
//   layer l reads the first layers[l].sources of them and computes the first layers[l].queries
#pragma once

#include <spex/graph/neighbour_matrix.h>
#include <spex/sample/sampler.h>

#include <span>
#include <vector>

namespace spex {

struct Batch {
  std::vector<NodeId> nodes;            // of the first layer's input, by local number
  std::vector<NeighbourMatrix> layers;  // of the attention graph, first layer first
  std::vector<NeighbourMatrix> local;   // of the graph's own edges; empty: not asked for
  size_t targets = 0;                   // the first so many nodes are what the batch is for

  size_t edges() const;
};

class BatchBuilder {
 public:
  // One degree per layer; those above the graph's largest mean all neighbours. The sampler must
  // outlive the builder.
  BatchBuilder(const Sampler& sampler, std::vector<size_t> degrees, bool with_log_scores);
  // Of both graphs; null: not of that one. They have the same nodes and, if both are drawn from, as
  // many layers.
  BatchBuilder(const Sampler* attention, std::vector<size_t> degrees, const Sampler* local,
               std::vector<size_t> local_degrees, bool with_log_scores);

  Batch build(std::span<const NodeId> targets, uint32_t epoch);

  const std::vector<size_t>& degrees() const { return attention_.degrees; }

 private:
  // What is drawn from one of the graphs.
  struct Draws {
    const Sampler* sampler = nullptr;
    std::vector<size_t> degrees;
    bool log_scores = false;
  };
  static Draws make_draws(const Sampler* sampler, std::vector<size_t> degrees, bool log_scores);
  static NeighbourMatrix sample_layer(const Draws& draws, const std::vector<NodeId>& queries,
                                      size_t layer, uint32_t epoch);
  void mark_needed(const NeighbourMatrix& pattern);
  void number_new(std::vector<NodeId>& nodes);
  void renumber(NeighbourMatrix& pattern) const;

  Draws attention_, local_;
  Buffer<uint64_t> needed_;    // one bit per node: some layer reads it
  Buffer<uint64_t> numbered_;  // one bit per node: local_number_ holds its number in this batch
  Buffer<uint32_t> local_number_;
};

// The share of the attention graph's edges that a sample of these degrees keeps, per layer.
std::vector<double> kept_share(const AttentionGraph& graph, std::span<const size_t> degrees);

}  // namespace spex
