// Batches (Algorithm 2 of the paper): neighbourhoods expanded backwards through the layers. Nodes
// are renumbered so that the queries of a layer are the first of its inputs:
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
  std::vector<NeighbourMatrix> layers;  // first layer first
  size_t targets = 0;                   // the first so many nodes are what the batch is for

  size_t edges() const;
};

class BatchBuilder {
 public:
  // One degree per layer. The sampler must outlive the builder.
  BatchBuilder(const Sampler& sampler, std::vector<size_t> degrees, bool with_log_scores);

  Batch build(std::span<const NodeId> targets, uint32_t epoch);

  const std::vector<size_t>& degrees() const { return degrees_; }

 private:
  NeighbourMatrix sample_layer(const std::vector<NodeId>& queries, size_t layer, uint32_t epoch);
  void renumber(NeighbourMatrix& pattern, std::vector<NodeId>& nodes);
  bool known(NodeId node) const { return stamp_[node] == round_; }
  void number(NodeId node, std::vector<NodeId>& nodes);

  const Sampler& sampler_;
  std::vector<size_t> degrees_;
  bool with_log_scores_;
  // The local number of a node is valid where its stamp is the current round's.
  std::vector<uint32_t> stamp_, local_;
  uint32_t round_ = 0;
};

// The share of the attention graph's edges that a sample of these degrees keeps, per layer.
std::vector<double> kept_share(const AttentionGraph& graph, std::span<const size_t> degrees);

}  // namespace spex
