#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/sample/batch.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <numeric>

#include "sample/race_kernels.h"

namespace spex {
namespace {

constexpr size_t kBlockRows = 256;
constexpr size_t kBlockWords = 2048;

uint64_t bit(NodeId node) {
  return uint64_t{1} << node % 64;
}

// Calls visit(index) for the neighbours of the queries in [begin, end).
template <class Pattern, class Visit>
void for_each_neighbour(Pattern& pattern, size_t begin, size_t end, Visit visit) {
  for (size_t i = begin; i < end; ++i) {
    size_t count = pattern.count(i);
    for (size_t e = i * pattern.k; e < i * pattern.k + count; ++e) visit(pattern.indices[e]);
  }
}

void fill_row(NeighbourMatrix& pattern, const AttentionGraph& graph, size_t query, NodeId node,
              std::span<const EdgeOffset> edges) {
  NodeId* row = pattern.indices.data() + query * pattern.k;
  for (size_t e = 0; e < edges.size(); ++e) row[e] = graph.neighbours[edges[e]];
  for (size_t t = 0; t < graph.types; ++t)
    pattern.ends[t * pattern.queries + query] = static_cast<uint16_t>(
        std::lower_bound(edges.begin(), edges.end(), graph.segment_end(t, node)) - edges.begin());
}

void fill_features(NeighbourMatrix& pattern, const AttentionGraph& graph, size_t query, NodeId node,
                   std::span<const EdgeOffset> edges) {
  const EdgeFeatures& features = graph.features;
  float* to = pattern.features.data() + query * pattern.k * features.count;
  for (size_t e = 0; e < pattern.ends[query]; ++e, to += features.count) {
    EdgeOffset place = features.rows[node] + (edges[e] - graph.offsets[node]);
    std::copy_n(features.values.begin() + place * features.count, features.count, to);
  }
}

void fill_log_scores(NeighbourMatrix& pattern, const SharedArray<Half>& scores, size_t query,
                     std::span<const EdgeOffset> edges) {
  thread_local std::vector<uint16_t> bits;
  bits.clear();
  for (EdgeOffset edge : edges) bits.push_back(scores[edge].bits);
  SPEX_CALL(log_scores, pattern.log_score.data() + query * pattern.k, bits.data(), bits.size());
}

size_t largest_degree(const AttentionGraph& graph) {
  size_t largest = 0;
  for (size_t i = 0; i < graph.nodes(); ++i)
    largest = std::max<size_t>(largest, graph.offsets[i + 1] - graph.offsets[i]);
  return largest;
}

}  // namespace

size_t Batch::edges() const {
  size_t edges = 0;
  for (const NeighbourMatrix& layer : layers)
    for (size_t i = 0; i < layer.queries; ++i) edges += layer.count(i);
  return edges;
}

BatchBuilder::BatchBuilder(const Sampler& sampler, std::vector<size_t> degrees,
                           bool with_log_scores)
    : BatchBuilder(&sampler, std::move(degrees), nullptr, {}, with_log_scores) {}

BatchBuilder::BatchBuilder(const Sampler* attention, std::vector<size_t> degrees,
                           const Sampler* local, std::vector<size_t> local_degrees,
                           bool with_log_scores)
    : attention_(make_draws(attention, std::move(degrees), with_log_scores)),
      local_(make_draws(local, std::move(local_degrees), false)) {
  require(attention || local, "a batch needs a graph to draw from");
  require(!attention || !local || attention_.degrees.size() == local_.degrees.size(),
          "a batch of {} layers of one graph and {} of the other", attention_.degrees.size(),
          local_.degrees.size());
  size_t nodes = (attention ? attention : local)->graph().nodes();
  needed_ = Buffer<uint64_t>((nodes + 63) / 64, MemoryTag::graph);
  numbered_ = Buffer<uint64_t>(needed_.size(), MemoryTag::graph);
  local_number_ = Buffer<uint32_t>(nodes, MemoryTag::graph);
}

BatchBuilder::Draws BatchBuilder::make_draws(const Sampler* sampler, std::vector<size_t> degrees,
                                             bool log_scores) {
  if (!sampler) return {};
  require(!degrees.empty(), "a batch needs at least one layer");
  require(!log_scores || sampler->scores(), "log-scores need attention scores");
  size_t largest = std::max<size_t>(1, largest_degree(sampler->graph()));
  for (size_t& degree : degrees) {
    degree = std::min(degree, largest);  // more would only make the rows of the matrix longer
    require(degree <= std::numeric_limits<uint16_t>::max(),
            "a layer cannot sample {} neighbours; 65535 are possible", degree);
  }
  return {sampler, std::move(degrees), log_scores};
}

Batch BatchBuilder::build(std::span<const NodeId> targets, uint32_t epoch) {
  std::fill(needed_.begin(), needed_.end(), 0);
  std::fill(numbered_.begin(), numbered_.end(), 0);
  Batch batch;
  batch.targets = targets.size();
  batch.layers.resize(attention_.degrees.size());
  batch.local.resize(local_.degrees.size());
  batch.nodes.assign(targets.begin(), targets.end());
  for (size_t i = 0; i < targets.size(); ++i) {
    NodeId node = targets[i];
    require(node < local_number_.size(), "node {} is not below {}", node, local_number_.size());
    require(!(numbered_[node / 64] & bit(node)), "node {} is twice in one batch", node);
    numbered_[node / 64] |= bit(node);
    local_number_[node] = static_cast<uint32_t>(i);
  }
  for (size_t l = std::max(batch.layers.size(), batch.local.size()); l-- > 0;) {
    std::vector<NeighbourMatrix*> drawn;
    if (attention_.sampler)
      drawn.push_back(&(batch.layers[l] = sample_layer(attention_, batch.nodes, l, epoch)));
    if (local_.sampler)
      drawn.push_back(&(batch.local[l] = sample_layer(local_, batch.nodes, l, epoch)));
    for (NeighbourMatrix* pattern : drawn) mark_needed(*pattern);
    number_new(batch.nodes);
    for (NeighbourMatrix* pattern : drawn) {
      renumber(*pattern);
      pattern->sources = batch.nodes.size();
    }
  }
  return batch;
}

// Neighbours by their global ids; numbering comes after, since it needs all of them.
NeighbourMatrix BatchBuilder::sample_layer(const Draws& draws, const std::vector<NodeId>& queries,
                                           size_t layer, uint32_t epoch) {
  const Sampler& sampler = *draws.sampler;
  size_t k = sampler.most(draws.degrees[layer]);
  NeighbourMatrix pattern;
  pattern.queries = queries.size();
  pattern.k = k;
  pattern.types = sampler.graph().types;
  pattern.indices = Buffer<NodeId>(queries.size() * k, MemoryTag::graph);
  pattern.ends = Buffer<uint16_t>(pattern.types * queries.size(), MemoryTag::graph);
  if (draws.log_scores) pattern.log_score = Buffer<float>(queries.size() * k, MemoryTag::graph);
  pattern.feature_count = sampler.graph().features.count;
  pattern.features = Buffer<float>(queries.size() * k * pattern.feature_count, MemoryTag::graph);
  parallel_for(queries.size(), kBlockRows, [&](size_t begin, size_t end) {
    std::vector<EdgeOffset> edges(k);
    for (size_t i = begin; i < end; ++i) {
      size_t count = sampler.draw(queries[i], layer, draws.degrees[layer], epoch, edges.data());
      fill_row(pattern, sampler.graph(), i, queries[i], {edges.data(), count});
      if (pattern.feature_count > 0)
        fill_features(pattern, sampler.graph(), i, queries[i], {edges.data(), count});
      if (draws.log_scores)
        fill_log_scores(pattern, sampler.scores()->layer(layer), i, {edges.data(), count});
    }
  });
  return pattern;
}

void BatchBuilder::mark_needed(const NeighbourMatrix& pattern) {
  parallel_for(pattern.queries, kBlockRows, [&](size_t begin, size_t end) {
    for_each_neighbour(pattern, begin, end, [&](NodeId node) {
      std::atomic_ref<uint64_t> word(needed_[node / 64]);
      // Most are marked already, and reading is cheaper than writing what other threads read.
      if (!(word.load(std::memory_order_relaxed) & bit(node)))
        word.fetch_or(bit(node), std::memory_order_relaxed);
    });
  });
}

// New nodes are numbered as they ascend: an order that does not depend on the threads.
void BatchBuilder::number_new(std::vector<NodeId>& nodes) {
  std::vector<size_t> starts((needed_.size() + kBlockWords - 1) / kBlockWords + 1, 0);
  parallel_for(needed_.size(), kBlockWords, [&](size_t begin, size_t end) {
    for (size_t w = begin; w < end; ++w)
      starts[begin / kBlockWords + 1] +=
          static_cast<size_t>(std::popcount(needed_[w] & ~numbered_[w]));
  });
  starts[0] = nodes.size();
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  nodes.resize(starts.back());
  parallel_for(needed_.size(), kBlockWords, [&](size_t begin, size_t end) {
    size_t next = starts[begin / kBlockWords];
    for (size_t w = begin; w < end; ++w) {
      for (uint64_t fresh = needed_[w] & ~numbered_[w]; fresh; fresh &= fresh - 1) {
        auto node = static_cast<NodeId>(64 * w + static_cast<size_t>(std::countr_zero(fresh)));
        local_number_[node] = static_cast<uint32_t>(next);
        nodes[next++] = node;
      }
      numbered_[w] |= needed_[w];
    }
  });
}

void BatchBuilder::renumber(NeighbourMatrix& pattern) const {
  parallel_for(pattern.queries, kBlockRows, [&](size_t begin, size_t end) {
    for_each_neighbour(pattern, begin, end, [&](NodeId& node) { node = local_number_[node]; });
  });
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
