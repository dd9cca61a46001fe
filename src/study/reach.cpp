#include "study/reach.h"

#include <spex/core/error.h>
#include <spex/core/random.h>
#include <spex/core/threads.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "study/lanczos.h"

namespace spex {
namespace {

constexpr size_t kWords = kReachSources / 64;  // of a node: a bit for each source
constexpr size_t kReachBlock = 512;

std::vector<NodeId> sources_of(size_t nodes, uint64_t seed) {
  if (nodes <= kReachAllUpTo) {
    std::vector<NodeId> all(nodes);
    for (size_t i = 0; i < nodes; ++i) all[i] = static_cast<NodeId>(i);
    return all;
  }
  std::vector<uint32_t> order = random_permutation(nodes, Random(seed, Purpose::generator, 5));
  return {order.begin(), order.begin() + kReachSources};
}

// The nodes that up to kReachSources sources have reached, as bits.
class Front {
 public:
  Front(const AttentionGraph& graph, std::span<const NodeId> sources)
      : graph_(graph), now_(graph.nodes() * kWords, 0), next_(now_.size()) {
    for (size_t s = 0; s < sources.size(); ++s)
      now_[sources[s] * kWords + s / 64] |= uint64_t{1} << (s % 64);
  }

  // One layer: a node has seen what any of its neighbours had.
  void step() {
    parallel_for(graph_.nodes(), kReachBlock, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        uint64_t* to = next_.data() + i * kWords;
        std::copy_n(now_.data() + i * kWords, kWords, to);
        for (EdgeOffset e = graph_.offsets[i]; e < graph_.offsets[i + 1]; ++e) {
          const uint64_t* from = now_.data() + graph_.neighbours[e] * kWords;
          for (size_t w = 0; w < kWords; ++w) to[w] |= from[w];
        }
      }
    });
    std::swap(now_, next_);
  }

  uint64_t pairs() const {
    return parallel_sum(now_.size(), kReachBlock * kWords, uint64_t{0},
                        [&](size_t begin, size_t end) {
                          uint64_t count = 0;
                          for (size_t i = begin; i < end; ++i)
                            count += static_cast<uint64_t>(std::popcount(now_[i]));
                          return count;
                        });
  }

 private:
  const AttentionGraph& graph_;
  std::vector<uint64_t> now_, next_;
};

// Pairs after 0, 1, .. layers, until nothing changes.
std::vector<uint64_t> follow(const AttentionGraph& graph, std::span<const NodeId> sources) {
  Front front(graph, sources);
  std::vector<uint64_t> pairs = {front.pairs()};
  while (pairs.size() <= kReachMostLayers && pairs.back() < sources.size() * graph.nodes()) {
    front.step();
    uint64_t count = front.pairs();
    if (count == pairs.back()) break;
    pairs.push_back(count);
  }
  return pairs;
}

}  // namespace

Reach measure_reach(const AttentionGraph& graph, uint64_t seed) {
  std::vector<NodeId> sources = sources_of(graph.nodes(), seed);
  std::vector<uint64_t> total;
  for (size_t begin = 0; begin < sources.size(); begin += kReachSources) {
    size_t count = std::min(kReachSources, sources.size() - begin);
    std::vector<uint64_t> part = follow(graph, std::span(sources).subspan(begin, count));
    // A part that has nothing more to see stays as it is while others go on.
    size_t longest = std::max(total.size(), part.size());
    part.resize(longest, part.back());
    total.resize(longest, total.empty() ? 0 : total.back());
    for (size_t l = 0; l < longest; ++l) total[l] += part[l];
  }
  Reach reach;
  reach.sampled = sources.size() < graph.nodes();
  uint64_t all = sources.size() * graph.nodes();
  for (uint64_t pairs : total)
    reach.seen.push_back(static_cast<double>(pairs) / static_cast<double>(all));
  reach.complete = total.back() == all;
  return reach;
}

double walk_gap(const AttentionGraph& graph) {
  require(graph.symmetric, "the gap of a random walk is computed for undirected graphs only");
  size_t nodes = graph.nodes();
  std::vector<double> root(nodes);  // of the degree; over its length, the first eigenvector
  double length = 0;
  for (size_t i = 0; i < nodes; ++i) {
    root[i] = std::sqrt(static_cast<double>(graph.offsets[i + 1] - graph.offsets[i]));
    length += root[i] * root[i];
  }
  LanczosOptions options;
  options.most_steps = 1000;
  options.tolerance = 1e-7;
  options.without = root;
  for (double& value : options.without) value /= std::sqrt(length);
  // D^-1/2 A D^-1/2 has the eigenvalues of D^-1 A and is symmetric.
  double second = largest_eigenvalue(
      nodes,
      [&](std::span<double> out, std::span<const double> in) {
        parallel_for(nodes, kReachBlock, [&](size_t begin, size_t end) {
          for (size_t i = begin; i < end; ++i) {
            double sum = 0;
            for (EdgeOffset e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
              sum += in[graph.neighbours[e]] / root[graph.neighbours[e]];
            out[i] = sum / root[i];
          }
        });
      },
      options);
  return std::max(0.0, 1 - second);
}

}  // namespace spex
