#include <spex/core/error.h>
#include <spex/sample/sampler.h>

#include <algorithm>

#include "sample/race_kernels.h"

namespace spex {
namespace {

constexpr size_t kChunk = 256;  // edges whose keys are computed together, in the cache

// The k smallest keys seen so far, as a heap with the largest on top. Ties go to the edge seen
// first.
class Winners {
 public:
  Winners(size_t k, EdgeOffset* edges, std::vector<float>& keys)
      : k_(k), edges_(edges), keys_(keys) {
    keys_.clear();
  }

  void offer(std::span<const float> keys, EdgeOffset first) {
    size_t i = 0;
    for (; i < keys.size() && keys_.size() < k_; ++i) push(keys[i], first + i);
    for (; i < keys.size(); ++i)
      if (keys[i] < keys_[0]) replace_worst(keys[i], first + i);
  }
  size_t count() const { return keys_.size(); }

 private:
  void push(float key, EdgeOffset edge) {
    size_t at = keys_.size();
    keys_.push_back(key);
    edges_[at] = edge;
    for (; at > 0 && keys_[(at - 1) / 2] < keys_[at]; at = (at - 1) / 2) exchange(at, (at - 1) / 2);
  }
  void replace_worst(float key, EdgeOffset edge) {
    keys_[0] = key;
    edges_[0] = edge;
    for (size_t at = 0;;) {
      size_t child = 2 * at + 1;
      if (child >= keys_.size()) return;
      if (child + 1 < keys_.size() && keys_[child + 1] > keys_[child]) ++child;
      if (keys_[child] <= keys_[at]) return;
      exchange(at, child);
      at = child;
    }
  }
  void exchange(size_t a, size_t b) {
    std::swap(keys_[a], keys_[b]);
    std::swap(edges_[a], edges_[b]);
  }
  size_t k_;
  EdgeOffset* edges_;
  std::vector<float>& keys_;
};

}  // namespace

std::string_view name(Sampling sampling) {
  return sampling == Sampling::weighted  ? "weighted"
         : sampling == Sampling::uniform ? "uniform"
                                         : "top";
}

Sampler::Sampler(const AttentionGraph& graph, const Scores* scores, Sampling sampling,
                 uint64_t seed)
    : graph_(graph), scores_(scores), sampling_(sampling), seed_(seed) {
  require(scores_ || sampling_ == Sampling::uniform, "{} sampling needs attention scores",
          name(sampling_));
}

size_t Sampler::draw(NodeId node, size_t layer, size_t k, uint32_t epoch, EdgeOffset* edges) const {
  EdgeOffset begin = graph_.offsets[node];
  EdgeOffset end = graph_.offsets[node + 1];
  if (end - begin <= k) {
    for (EdgeOffset e = begin; e < end; ++e) edges[e - begin] = e;
    return end - begin;
  }
  thread_local std::vector<float> heap;
  Winners winners(k, edges, heap);
  Random random(seed_, Purpose::sampling, epoch, static_cast<uint32_t>(layer));
  const uint16_t* scores = sampling_ == Sampling::uniform
                               ? nullptr
                               : reinterpret_cast<const uint16_t*>(scores_->layer(layer).data());
  alignas(64) uint32_t words[kChunk + 8];
  alignas(64) float keys[kChunk];
  for (EdgeOffset first = begin; first < end; first += kChunk) {
    size_t count = std::min<EdgeOffset>(kChunk, end - first);
    if (sampling_ == Sampling::top) {
      for (size_t i = 0; i < count; ++i) keys[i] = -static_cast<float>(scores[first + i]);
    } else {
      // Four words per index; the edge's own word is word edge % 4 of index edge / 4.
      size_t skip = first % 4;
      random.fill({words, (skip + count + 3) / 4 * 4}, first / 4);
      SPEX_CALL(race_keys, keys, words + skip, scores ? scores + first : nullptr, count);
    }
    winners.offer({keys, count}, first);
  }
  std::sort(edges, edges + winners.count());
  return winners.count();
}

}  // namespace spex
