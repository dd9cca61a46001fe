#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/sample/saint.h>

#include <algorithm>
#include <atomic>
#include <limits>

namespace spex {
namespace {

constexpr size_t kRowBlock = 256;
constexpr size_t kMostCounted = std::numeric_limits<uint16_t>::max();

size_t row_size(const AttentionGraph& graph, size_t node) {
  return graph.offsets[node + 1] - graph.offsets[node];
}

void count(uint16_t& counter) {
  std::atomic_ref<uint16_t>(counter).fetch_add(1, std::memory_order_relaxed);
}

// Which nodes are in a subgraph: one bit each.
class Members {
 public:
  explicit Members(size_t nodes) : bits_((nodes + 63) / 64, 0) {}
  bool holds(NodeId node) const { return bits_[node / 64] >> node % 64 & 1; }
  void add(std::span<const NodeId> nodes) {
    for (NodeId node : nodes) bits_[node / 64] |= uint64_t{1} << node % 64;
  }
  void clear(std::span<const NodeId> nodes) {
    for (NodeId node : nodes) bits_[node / 64] = 0;
  }

 private:
  std::vector<uint64_t> bits_;
};

void count_one(SubgraphCounts& counts, const AttentionGraph& graph, const Members& members,
               std::span<const NodeId> nodes) {
  for (NodeId v : nodes) {
    count(counts.nodes[v]);
    for (EdgeOffset e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e)
      if (members.holds(graph.neighbours[e])) count(counts.edges[e]);
  }
}

float known(uint16_t counted) {
  return static_cast<float>(std::max<uint16_t>(1, counted));
}

}  // namespace

SubgraphSampler::SubgraphSampler(const AttentionGraph& local, const SubgraphOptions& options,
                                 uint64_t seed)
    : local_(local), options_(options), seed_(seed) {
  require(local.nodes() > 0 && options.draws > 0, "a subgraph needs nodes to draw, and a draw");
}

size_t SubgraphSampler::steps() const {
  return (local_.nodes() + options_.nodes() - 1) / options_.nodes();
}

// The row that a random entry of the graph is in is drawn in proportion to its size.
NodeId SubgraphSampler::start(const Random& random, uint64_t index) const {
  if (options_.kind != SubgraphSampling::node)
    return static_cast<NodeId>(random.below(local_.nodes(), index));
  EdgeOffset entry = random.below(local_.edges(), index);
  auto row = std::upper_bound(local_.offsets.begin(), local_.offsets.end(), entry) - 1;
  return static_cast<NodeId>(row - local_.offsets.begin());
}

// Uniformly, but not the node itself unless it is alone.
NodeId SubgraphSampler::neighbour(NodeId node, double chance) const {
  size_t others = row_size(local_, node) - 1;
  auto at = static_cast<size_t>(chance * static_cast<double>(others));
  return local_.neighbours[local_.offsets[node] + std::min(at, others - (others > 0))];
}

// A node drawn uniformly and a neighbour of it are an edge drawn in proportion to 1 / d_u + 1 /
// d_v: edges are walks of one step, nodes walks of none.
std::vector<NodeId> SubgraphSampler::draw(uint32_t epoch, uint32_t step) const {
  Random random(seed_, Purpose::sampling, epoch, step);
  std::vector<NodeId> nodes;
  nodes.reserve(options_.nodes());
  uint64_t index = 0;
  for (size_t i = 0; i < options_.draws; ++i) {
    nodes.push_back(start(random, index++));
    for (size_t s = 0; s < options_.steps(); ++s)
      nodes.push_back(neighbour(nodes.back(), random.uniform(index++)));
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

SubgraphCounts count_subgraphs(const SubgraphSampler& sampler) {
  const AttentionGraph& graph = sampler.graph();
  size_t steps = sampler.steps();
  SubgraphCounts counts;
  counts.subgraphs = std::min(kMostCounted, sampler.options().rounds * steps);
  counts.nodes = Buffer<uint16_t>(graph.nodes(), MemoryTag::graph);
  counts.edges = Buffer<uint16_t>(graph.edges(), MemoryTag::graph);
  std::fill(counts.nodes.begin(), counts.nodes.end(), uint16_t{0});
  std::fill(counts.edges.begin(), counts.edges.end(), uint16_t{0});
  constexpr size_t kEach = 32;  // subgraphs that share a set of members
  parallel_for(counts.subgraphs, kEach, [&](size_t begin, size_t end) {
    Members members(graph.nodes());
    for (size_t s = begin; s < end; ++s) {
      // Epochs count up from 0, these rounds down from the largest: none is drawn twice.
      auto round = std::numeric_limits<uint32_t>::max() - static_cast<uint32_t>(s / steps);
      std::vector<NodeId> nodes = sampler.draw(round, static_cast<uint32_t>(s % steps));
      members.add(nodes);
      count_one(counts, graph, members, nodes);
      members.clear(nodes);
    }
  });
  return counts;
}

SubgraphWeights subgraph_weights(const AttentionGraph& graph, const SubgraphCounts& counts,
                                 std::span<const NodeId> nodes, const AttentionGraph& induced) {
  SubgraphWeights weights{Buffer<float>(induced.edges(), MemoryTag::graph),
                          Buffer<float>(induced.edges(), MemoryTag::graph),
                          Buffer<float>(nodes.size(), MemoryTag::graph)};
  auto fill_row = [&](size_t i, size_t type) {
    NodeId v = nodes[i];
    EdgeOffset whole = graph.segment_begin(type, v);  // walks along: both rows ascend
    for (EdgeOffset e = induced.segment_begin(type, i); e < induced.segment_end(type, i); ++e) {
      NodeId u = nodes[induced.neighbours[e]];
      while (graph.neighbours[whole] != u) ++whole;
      float together = known(counts.edges[whole]);
      weights.edges[e] = known(counts.nodes[v]) / together;
      weights.edges_back[e] = known(counts.nodes[u]) / together;
    }
  };
  parallel_for(nodes.size(), kRowBlock, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      for (size_t t = 0; t < graph.types; ++t) fill_row(i, t);
      weights.losses[i] = static_cast<float>(counts.subgraphs) / known(counts.nodes[nodes[i]]);
    }
  });
  return weights;
}

}  // namespace spex
