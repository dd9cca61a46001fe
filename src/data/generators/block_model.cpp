// Nodes stand at positions, class after class and, within a class, by falling weight; a random
// order gives them their ids. A fixed coin decides which end of a pair owns it. Each node draws the
// pairs it owns, as many as its weight gives it, all different: so no pair is ever drawn twice, the
// total is exact, and nodes need not know of each other. The other end of a pair is drawn by weight
// as well, from the same class or from all; the law is inverted in closed form, so there are no
// tables.

#include "data/generators/block_model.h"

#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/graph/builder.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "data/generators/generator_parts.h"

namespace spex {
namespace {

constexpr size_t kPositionBlock = 4096;
constexpr double kUnit = 0x1p-32;

// Ranks 0 .. size-1 with probabilities like the integral of (x + 1)^-skew over [rank, rank + 1).
class PowerLaw {
 public:
  PowerLaw(size_t size, double skew)
      : size_(static_cast<double>(size)), exponent_(1.0 - skew), total_(integral(size_)) {}
  double weight(size_t rank) const {  // 1 on average
    auto r = static_cast<double>(rank);
    return size_ * (integral(r + 1.0) - integral(r)) / total_;
  }
  size_t rank(double uniform) const {
    double x = std::pow(1.0 + uniform * total_, 1.0 / exponent_) - 1.0;
    return static_cast<size_t>(std::min(x, size_ - 1.0));
  }

 private:
  double integral(double x) const { return std::pow(x + 1.0, exponent_) - 1.0; }
  double size_, exponent_, total_;
};

struct Block {
  size_t begin;
  size_t size;
  PowerLaw law;
};

// The coin: which of two positions owns their pair.
size_t owner(size_t a, size_t b) {
  auto [low, high] = std::minmax(a, b);
  uint64_t hash = (low << 32 | high) * 0x9e3779b97f4a7c15U;
  hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93U;
  return hash >> 63 ? low : high;
}

// Ids in the order they came, each once: a list and an open hash table of places in it.
class DistinctIds {
 public:
  void clear(size_t capacity) {
    ids_.clear();
    table_.assign(std::bit_ceil(2 * capacity + 1), 0);
  }
  void insert(NodeId id) {
    size_t slot = id * 0x9e3779b9U;
    for (;; ++slot) {
      uint32_t& place = table_[slot & (table_.size() - 1)];
      if (place == 0) {
        ids_.push_back(id);
        place = static_cast<uint32_t>(ids_.size());
        return;
      }
      if (ids_[place - 1] == id) return;
    }
  }
  size_t size() const { return ids_.size(); }
  const std::vector<NodeId>& ids() const { return ids_; }

 private:
  std::vector<NodeId> ids_;
  std::vector<uint32_t> table_;  // 0: free; otherwise place in ids_ plus one
};

class Sampler {
 public:
  explicit Sampler(const BlockModel& model)
      : model_(model), random_(part_random(model.seed, Part::edges)) {
    for (size_t size : model.class_sizes) {
      blocks_.push_back({nodes_, size, PowerLaw(size, model.skew)});
      nodes_ += size;
    }
  }

  size_t nodes() const { return nodes_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  const Block& block_of(size_t position) const {
    auto after = std::ranges::upper_bound(blocks_, position, {}, &Block::begin);
    return *(after - 1);
  }

  // `count` different positions of which `position` owns the pair.
  void draw(DistinctIds& drawn, size_t position, size_t count) const {
    drawn.clear(count);
    const Block& block = block_of(position);
    // A hub may use up its class, so that the law would take forever: then any node will do.
    uint64_t by_law = 32 * count + 64, patience = 4 * by_law;
    for (uint64_t attempt = 0; drawn.size() < count && attempt < patience; ++attempt) {
      auto words = random_.bits(uint64_t{position} << 32 | attempt);
      size_t other = attempt < by_law ? by_weight(block, words) : uniformly(words[1]);
      if (other != position && owner(position, other) == position)
        drawn.insert(static_cast<NodeId>(other));
    }
    require(drawn.size() == count, "a graph of {} nodes has no room for {} edges; ask for fewer",
            nodes_, model_.pairs);
  }

 private:
  size_t uniformly(uint32_t word) const { return uint64_t{word} * nodes_ >> 32; }
  size_t by_weight(const Block& own, const std::array<uint32_t, 4>& words) const {
    bool stay = words[0] * kUnit < model_.homophily;
    const Block& block = stay ? own : block_of(uniformly(words[1]));
    return block.begin + block.law.rank((words[2] + words[3] * kUnit) * kUnit);
  }

  const BlockModel& model_;
  Random random_;
  std::vector<Block> blocks_;
  size_t nodes_ = 0;
};

// begins[p]: where the pairs that position p owns begin, in proportion to its weight but at most
// `most` a node.
Buffer<uint64_t> share_out(const Sampler& sampler, uint64_t pairs, double most) {
  size_t nodes = sampler.nodes();
  Buffer<float> weights(nodes, MemoryTag::other);
  parallel_for(nodes, kPositionBlock, [&](size_t begin, size_t end) {
    for (size_t p = begin; p < end; ++p) {
      const Block& block = sampler.block_of(p);
      weights[p] = static_cast<float>(block.law.weight(p - block.begin));
    }
  });
  double factor = 1.0, total = 0.0;
  auto share = [&](size_t p) { return std::min(most, factor * weights[p]); };
  // What the hubs may not have goes to the others, which a few rounds settle.
  for (int round = 0; round < 30; ++round) {
    total = 0.0;
    for (size_t p = 0; p < nodes; ++p) total += share(p);
    factor *= static_cast<double>(pairs) / total;
  }
  Buffer<uint64_t> begins(nodes + 1, MemoryTag::other);
  double sum = 0.0;
  for (size_t p = 0; p < nodes; ++p) {
    begins[p] = std::min(pairs, static_cast<uint64_t>(sum));
    sum += share(p);
  }
  begins[nodes] = pairs;
  return begins;
}

void check(const BlockModel& model) {
  auto nodes = std::accumulate(model.class_sizes.begin(), model.class_sizes.end(), 0.0);
  require(nodes >= 2 && nodes < std::numeric_limits<NodeId>::max(),
          "cannot generate a graph of {:.0f} nodes; ask for 2 to {}", nodes,
          std::numeric_limits<NodeId>::max() - 1);
  require(static_cast<double>(model.pairs) <= nodes * (nodes - 1) / 8,
          "cannot generate {} undirected edges over {:.0f} nodes: that is more than a quarter of "
          "all pairs; ask for more nodes or a lower degree",
          model.pairs, nodes);
  require(model.homophily >= 0 && model.homophily <= 1, "homophily must lie in [0, 1], not {}",
          model.homophily);
  require(model.skew >= 0 && model.skew < 1, "the degree skew must lie in [0, 1), not {}",
          model.skew);
}

CsrGraph draw_graph(const Sampler& sampler, const std::vector<NodeId>& ids, uint64_t pairs) {
  size_t nodes = sampler.nodes();
  Buffer<uint64_t> begins = share_out(sampler, pairs, static_cast<double>(nodes - 1) / 4.0);
  Buffer<NodeId> sources(pairs, MemoryTag::other), targets(pairs, MemoryTag::other);
  parallel_for(nodes, kPositionBlock, [&](size_t begin, size_t end) {
    DistinctIds drawn;
    for (size_t p = begin; p < end; ++p) {
      sampler.draw(drawn, p, begins[p + 1] - begins[p]);
      std::fill(&sources[0] + begins[p], &sources[0] + begins[p + 1], ids[p]);
      std::ranges::transform(drawn.ids(), &targets[0] + begins[p],
                             [&](NodeId q) { return ids[q]; });
    }
  });
  return build_csr(nodes, sources.span(), targets.span()).graph;
}

}  // namespace

BlockGraph sample_block_model(const BlockModel& model) {
  check(model);
  Sampler sampler(model);
  auto ids = random_permutation(sampler.nodes(), part_random(model.seed, Part::order));
  Buffer<int32_t> classes(sampler.nodes(), MemoryTag::other);
  for (size_t c = 0; c < sampler.blocks().size(); ++c) {
    const Block& block = sampler.blocks()[c];
    for (size_t p = block.begin; p < block.begin + block.size; ++p)
      classes[ids[p]] = static_cast<int32_t>(c);
  }
  return {draw_graph(sampler, ids, model.pairs), std::move(classes)};
}

std::vector<size_t> class_sizes(size_t nodes, size_t classes, double imbalance) {
  require(classes >= 1 && classes <= nodes, "{} nodes cannot have {} classes", nodes, classes);
  std::vector<double> shares(classes);
  for (size_t c = 0; c < classes; ++c) shares[c] = std::pow(static_cast<double>(c + 1), -imbalance);
  double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<size_t> sizes(classes);
  double sum = 0.0;
  size_t begin = 0;
  for (size_t c = 0; c < classes; ++c) {
    sum += shares[c];
    auto end = static_cast<size_t>(std::llround(static_cast<double>(nodes) * sum / total));
    end = std::clamp(end, begin + 1, nodes - (classes - 1 - c));
    sizes[c] = end - begin;
    begin = end;
  }
  return sizes;
}

}  // namespace spex
