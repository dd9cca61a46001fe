#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/sample/balls.h>
#include <spex/sample/sampler.h>

#include <algorithm>
#include <vector>

namespace spex {
namespace {

constexpr size_t kBlockRows = 1024;

// The balls of consecutive nodes, one after the other.
struct Block {
  std::vector<NodeId> members;
  std::vector<uint32_t> counts;  // members of each distance, by node
};

class BallDrawer {
 public:
  BallDrawer(const Sampler& sampler, std::span<const size_t> fan_out)
      : sampler_(sampler),
        fan_out_(fan_out),
        drawn_(*std::max_element(fan_out.begin(), fan_out.end())) {}

  void add(Block& block, NodeId node) {
    size_t ball = block.members.size(), last = ball;  // where the ball and its last ring begin
    block.members.push_back(node);
    block.counts.push_back(1);
    for (size_t t = 0; t < fan_out_.size(); ++t) {
      draw_ring(block.members, last, t);
      last = block.members.size();
      for (NodeId found : ring_)
        if (!is_in(block, ball, found)) block.members.push_back(found);
      block.counts.push_back(static_cast<uint32_t>(block.members.size() - last));
    }
  }

 private:
  // What is drawn of the members from `last` on, ascending, each once.
  void draw_ring(const std::vector<NodeId>& members, size_t last, size_t t) {
    ring_.clear();
    const AttentionGraph& graph = sampler_.graph();
    for (size_t m = last; m < members.size(); ++m) {
      size_t count = sampler_.draw(members[m], t, fan_out_[t], 0, drawn_.data());
      for (size_t e = 0; e < count; ++e) ring_.push_back(graph.neighbours[drawn_[e]]);
    }
    std::sort(ring_.begin(), ring_.end());
    ring_.erase(std::unique(ring_.begin(), ring_.end()), ring_.end());
  }

  // In a ring that is complete: each of them ascends. The ball is the last of the block.
  bool is_in(const Block& block, size_t ball, NodeId node) const {
    size_t rings = block.counts.size() % (fan_out_.size() + 1);
    auto ring = block.members.begin() + static_cast<ptrdiff_t>(ball);
    for (size_t r = block.counts.size() - rings; r < block.counts.size(); ++r) {
      if (std::binary_search(ring, ring + block.counts[r], node)) return true;
      ring += block.counts[r];
    }
    return false;
  }

  const Sampler& sampler_;
  std::span<const size_t> fan_out_;
  std::vector<EdgeOffset> drawn_;
  std::vector<NodeId> ring_;
};

AttentionGraph join(std::vector<Block>& blocks, size_t nodes, size_t types) {
  Buffer<EdgeOffset> offsets(nodes + 1, MemoryTag::graph);
  Buffer<EdgeOffset> ends((types - 1) * nodes, MemoryTag::graph);
  EdgeOffset place = 0;
  for (size_t i = 0; i < nodes; ++i) {
    offsets[i] = place;
    const Block& block = blocks[i / kBlockRows];
    for (size_t t = 0; t < types; ++t) {
      place += block.counts[i % kBlockRows * types + t];
      if (t + 1 < types) ends[t * nodes + i] = place;
    }
  }
  offsets[nodes] = place;
  Buffer<NodeId> neighbours(place, MemoryTag::graph);
  parallel_blocks(blocks.size(), [&](size_t b) {
    std::copy(blocks[b].members.begin(), blocks[b].members.end(),
              neighbours.begin() + offsets[b * kBlockRows]);
    blocks[b] = {};
  });
  return {std::move(offsets), std::move(neighbours), std::move(ends), types, false, 0};
}

}  // namespace

AttentionGraph draw_balls(const AttentionGraph& local, std::span<const size_t> fan_out,
                          uint64_t seed) {
  require(!fan_out.empty() && fan_out.size() < kMaxEdgeTypes,
          "a ball reaches 1 to {} steps; {} were asked for", kMaxEdgeTypes - 1, fan_out.size());
  Sampler sampler(local, nullptr, Sampling::uniform, seed);
  size_t nodes = local.nodes();
  std::vector<Block> blocks((nodes + kBlockRows - 1) / kBlockRows);
  parallel_for(nodes, kBlockRows, [&](size_t begin, size_t end) {
    BallDrawer drawer(sampler, fan_out);
    for (size_t i = begin; i < end; ++i)
      drawer.add(blocks[begin / kBlockRows], static_cast<NodeId>(i));
  });
  return join(blocks, nodes, fan_out.size() + 1);
}

}  // namespace spex
