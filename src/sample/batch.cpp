#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/sample/batch.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace spex {
namespace {

constexpr size_t kBlockRows = 256;

}  // namespace

size_t Batch::edges() const {
  size_t edges = 0;
  for (const NeighbourMatrix& layer : layers)
    for (size_t i = 0; i < layer.queries; ++i) edges += layer.count(i);
  return edges;
}

BatchBuilder::BatchBuilder(const Sampler& sampler, std::vector<size_t> degrees,
                           bool with_log_scores)
    : sampler_(sampler),
      degrees_(std::move(degrees)),
      with_log_scores_(with_log_scores),
      stamp_(sampler.graph().nodes(), 0),
      local_(sampler.graph().nodes()) {
  require(!degrees_.empty(), "a batch needs at least one layer");
  for (size_t degree : degrees_)
    require(degree > 0 && degree <= std::numeric_limits<uint16_t>::max(),
            "a layer cannot sample {} neighbours; 1 to 65535 are possible", degree);
}

void BatchBuilder::number(NodeId node, std::vector<NodeId>& nodes) {
  stamp_[node] = round_;
  local_[node] = static_cast<uint32_t>(nodes.size());
  nodes.push_back(node);
}

Batch BatchBuilder::build(std::span<const NodeId> targets, uint32_t epoch) {
  if (++round_ == 0) {
    std::fill(stamp_.begin(), stamp_.end(), 0);
    round_ = 1;
  }
  Batch batch;
  batch.targets = targets.size();
  batch.layers.resize(degrees_.size());
  batch.nodes.reserve(targets.size());
  for (NodeId node : targets) {
    require(node < stamp_.size(), "node {} is not below {}", node, stamp_.size());
    require(!known(node), "node {} is twice in one batch", node);
    number(node, batch.nodes);
  }
  for (size_t l = degrees_.size(); l-- > 0;) {
    batch.layers[l] = sample_layer(batch.nodes, l, epoch);
    renumber(batch.layers[l], batch.nodes);
  }
  return batch;
}

// Neighbours by their global ids; numbering comes after, since it is sequential.
NeighbourMatrix BatchBuilder::sample_layer(const std::vector<NodeId>& queries, size_t layer,
                                           uint32_t epoch) {
  const AttentionGraph& graph = sampler_.graph();
  size_t k = degrees_[layer];
  NeighbourMatrix pattern;
  pattern.queries = queries.size();
  pattern.k = k;
  pattern.types = graph.types;
  pattern.indices = Buffer<NodeId>(queries.size() * k, MemoryTag::graph);
  pattern.ends = Buffer<uint16_t>(graph.types * queries.size(), MemoryTag::graph);
  if (with_log_scores_) pattern.log_score = Buffer<float>(queries.size() * k, MemoryTag::graph);
  parallel_for(queries.size(), kBlockRows, [&](size_t begin, size_t end) {
    std::vector<EdgeOffset> edges(k);
    std::vector<Half> half(k);
    for (size_t i = begin; i < end; ++i) {
      NodeId node = queries[i];
      size_t count = sampler_.draw(node, layer, k, epoch, edges.data());
      for (size_t e = 0; e < count; ++e) pattern.indices[i * k + e] = graph.neighbours[edges[e]];
      for (size_t t = 0; t < graph.types; ++t)
        pattern.ends[t * pattern.queries + i] = static_cast<uint16_t>(
            std::lower_bound(edges.begin(), edges.begin() + static_cast<ptrdiff_t>(count),
                             graph.segment_end(t, node)) -
            edges.begin());
      if (!with_log_scores_) continue;
      for (size_t e = 0; e < count; ++e) half[e] = sampler_.scores()->layer(layer)[edges[e]];
      std::span<float> scores = pattern.log_score.span().subspan(i * k, count);
      to_float(scores, std::span(half).first(count));
      for (float& score : scores) score = std::log(score + 1e-8F);
    }
  });
  return pattern;
}

void BatchBuilder::renumber(NeighbourMatrix& pattern, std::vector<NodeId>& nodes) {
  if (nodes.size() < stamp_.size())
    for (size_t i = 0; i < pattern.queries; ++i)
      for (size_t e = 0; e < pattern.count(i); ++e) {
        NodeId node = pattern.indices[i * pattern.k + e];
        if (!known(node)) number(node, nodes);
      }
  parallel_for(pattern.queries, 4 * kBlockRows, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      for (size_t e = 0; e < pattern.count(i); ++e) {
        NodeId& node = pattern.indices[i * pattern.k + e];
        node = local_[node];
      }
  });
  pattern.sources = nodes.size();
}

std::vector<double> kept_share(const AttentionGraph& graph, std::span<const size_t> degrees) {
  std::vector<double> shares;
  for (size_t degree : degrees) {
    auto kept = parallel_sum(graph.nodes(), 65536, size_t{0}, [&](size_t begin, size_t end) {
      size_t part = 0;
      for (size_t i = begin; i < end; ++i)
        part += std::min<size_t>(degree, graph.offsets[i + 1] - graph.offsets[i]);
      return part;
    });
    shares.push_back(graph.edges() ? static_cast<double>(kept) / static_cast<double>(graph.edges())
                                   : 1.0);
  }
  return shares;
}

}  // namespace spex
