#include <spex/core/error.h>
#include <spex/sample/sampler.h>

#include <algorithm>

#include "sample/race_kernels.h"

namespace spex {
namespace {

constexpr size_t kChunk = 1024;  // random words made together, in the cache

// The larger a score, the smaller its key. The bits of non-negative 16-bit floats order as the
// floats do.
void top_keys(std::span<int32_t> keys, const Half* scores) {
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = 0xFFFF - scores[i].bits;
}

// Four words per index of `random`; an edge's own is word edge % 4 of index edge / 4.
void random_keys(std::span<int32_t> keys, const Half* scores, EdgeOffset first,
                 const Random& random) {
  alignas(64) uint32_t words[kChunk + 8 + kRowPadding];
  for (size_t done = 0; done < keys.size(); done += kChunk) {
    size_t count = std::min(kChunk, keys.size() - done);
    size_t skip = (first + done) % 4;
    random.fill({words, (skip + count + 3) / 4 * 4}, (first + done) / 4);
    SPEX_CALL(race_keys, keys.data() + done, words + skip,
              scores ? reinterpret_cast<const uint16_t*>(scores + done) : nullptr, count);
  }
}

}  // namespace

Sampler::Sampler(const AttentionGraph& graph, const Scores* scores, Sampling sampling,
                 uint64_t seed)
    : graph_(graph), scores_(scores), sampling_(sampling), seed_(seed) {
  require(scores_ || sampling_ == Sampling::uniform, "{} sampling needs attention scores",
          name(sampling_));
  if (scores_) check(*scores_, graph_);
}

Sampler Sampler::with_self_loops(const AttentionGraph& graph, uint64_t seed) {
  Sampler sampler(graph, nullptr, Sampling::uniform, seed);
  sampler.self_loops_ = true;
  return sampler;
}

size_t Sampler::draw(NodeId node, size_t layer, size_t k, uint32_t epoch, EdgeOffset* edges) const {
  EdgeOffset begin = graph_.offsets[node];
  EdgeOffset end = graph_.offsets[node + 1];
  if (self_loops_) {
    size_t drawn = draw_from(begin, end - 1, layer, k, epoch, edges);
    edges[drawn] = end - 1;
    return drawn + 1;
  }
  return draw_from(begin, end, layer, k, epoch, edges);
}

size_t Sampler::draw_from(EdgeOffset begin, EdgeOffset end, size_t layer, size_t k, uint32_t epoch,
                          EdgeOffset* edges) const {
  if (end - begin <= k) {
    for (EdgeOffset e = begin; e < end; ++e) edges[e - begin] = e;
    return end - begin;
  }
  if (k == 0) return 0;
  thread_local std::vector<int32_t> scratch;  // grows to the largest degree met
  scratch.resize(std::max<size_t>(scratch.size(), end - begin + kRowPadding));
  std::span<int32_t> keys(scratch.data(), end - begin);
  const Half* scores =
      sampling_ == Sampling::uniform ? nullptr : scores_->layer(layer).data() + begin;
  if (sampling_ == Sampling::top)
    top_keys(keys, scores);
  else
    random_keys(keys, scores, begin,
                Random(seed_, self_loops_ ? Purpose::local_sampling : Purpose::sampling, epoch,
                       static_cast<uint32_t>(layer)));
  SPEX_CALL(select_smallest, edges, keys.data(), keys.size(), k, begin);
  return k;
}

}  // namespace spex
