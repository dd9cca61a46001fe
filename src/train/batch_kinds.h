// The kinds of batches, one file each; make_batches chooses.
#pragma once

#include <spex/core/random.h>
#include <spex/train/batches.h>

#include <numeric>
#include <vector>

namespace spex {

// The order of `nodes` in an epoch.
inline std::vector<NodeId> shuffled(std::span<const NodeId> nodes, uint64_t seed, size_t epoch) {
  Random random(seed, Purpose::batch_order, static_cast<uint32_t>(epoch));
  std::vector<NodeId> order;
  order.reserve(nodes.size());
  for (uint32_t at : random_permutation(nodes.size(), random)) order.push_back(nodes[at]);
  return order;
}

inline std::vector<NodeId> first_nodes(size_t count) {
  std::vector<NodeId> nodes(count);
  std::iota(nodes.begin(), nodes.end(), 0U);
  return nodes;
}

// All nodes and all edges in one step.
std::unique_ptr<Batches> whole_graph(const Ground& ground, std::span<const NodeId> train,
                                     const Needs& needs, const BatchOptions& options);
// The same for the evaluation of what is trained in batches, since the graph is large: models that
// can compute a layer a part at a time do.
std::unique_ptr<Batches> whole_evaluation(const Ground& ground);
// All nodes in one step, attention over a sample that is drawn anew every few epochs.
std::unique_ptr<Batches> whole_sample(const Ground& ground, std::span<const NodeId> train,
                                      const Needs& needs, const BatchOptions& options);
// Target nodes and the neighbours drawn for them, layer by layer. Models that look at the graph's
// own edges only are evaluated on all of them.
std::unique_ptr<Batches> sampled_batches(const Ground& ground, std::span<const NodeId> train,
                                         const Needs& needs, const BatchOptions& options);
// Random nodes and the edges among them; evaluated on the whole graph.
std::unique_ptr<Batches> random_node_batches(const Ground& ground, std::span<const NodeId> train,
                                             const BatchOptions& options);
// GraphSAINT's subgraphs; evaluated on the whole graph.
std::unique_ptr<Batches> subgraph_batches(const Ground& ground, std::span<const NodeId> train,
                                          const Needs& needs, const BatchOptions& options);
// Rows of features.
std::unique_ptr<Batches> row_batches(const Ground& ground, std::span<const NodeId> train,
                                     const BatchOptions& options);

}  // namespace spex
