// GraphSAINT (Zeng et al.): training on small subgraphs, with weights that undo what the sampling
// does to sums over neighbours and to the loss. A subgraph is a function of (seed, epoch, step).
#pragma once

#include <spex/core/random.h>
#include <spex/graph/attention_graph.h>
#include <spex/graph/sampling.h>

#include <span>
#include <vector>

namespace spex {

// Draws the nodes of subgraphs of a local graph: symmetric, each row ending with its self-loop.
class SubgraphSampler {
 public:
  // The graph must outlive the sampler.
  SubgraphSampler(const AttentionGraph& local, const SubgraphOptions& options, uint64_t seed);

  // The nodes of one subgraph, ascending, each once.
  std::vector<NodeId> draw(uint32_t epoch, uint32_t step) const;
  // Subgraphs that together draw about as many nodes as the graph has.
  size_t steps() const;

  const AttentionGraph& graph() const { return local_; }
  const SubgraphOptions& options() const { return options_; }

 private:
  NodeId start(const Random& random, uint64_t index) const;
  NodeId neighbour(NodeId node, double chance) const;

  const AttentionGraph& local_;
  SubgraphOptions options_;
  uint64_t seed_;
};

// In how many of `subgraphs` subgraphs, drawn beforehand, each node and each edge was.
struct SubgraphCounts {
  size_t subgraphs = 0;
  Buffer<uint16_t> nodes;
  Buffer<uint16_t> edges;  // in the order of the graph's entries
};
SubgraphCounts count_subgraphs(const SubgraphSampler& sampler);

// What one subgraph's sums and losses are multiplied by. A node or an edge that was never counted
// counts as seen once.
struct SubgraphWeights {
  Buffer<float> edges;       // C_v / C_uv of the entry u of row v
  Buffer<float> edges_back;  // the same in the order of the transpose: C_u / C_uv
  Buffer<float> losses;      // subgraphs / C_v
};
// `induced` is induced_subgraph(graph, nodes), and the nodes ascend.
SubgraphWeights subgraph_weights(const AttentionGraph& graph, const SubgraphCounts& counts,
                                 std::span<const NodeId> nodes, const AttentionGraph& induced);

}  // namespace spex
