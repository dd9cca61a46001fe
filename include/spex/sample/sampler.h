// Drawing neighbours without replacement (Algorithm 1 of the paper; Efraimidis and Spirakis,
// "Weighted random sampling with a reservoir"): every edge of a row gets an exponential waiting
// time with its score as the rate, and the k that come first are the sample. The law is that of
// drawing one after the other in proportion to the scores of those left.
//
// The random number of an edge is a function of (seed, epoch, layer, edge). A node's sample is
// therefore the same whatever the batch it is drawn for, the order of batches, and the number of
// threads.
#pragma once

#include <spex/core/random.h>
#include <spex/graph/sampling.h>
#include <spex/sample/scores.h>

#include <span>
#include <vector>

namespace spex {

class Sampler {
 public:
  // Graph and scores must outlive the sampler; uniform sampling needs no scores (pass null).
  Sampler(const AttentionGraph& graph, const Scores* scores, Sampling sampling, uint64_t seed);
  // Uniform, and the self-loop that ends every row is in each sample, besides the k that are drawn.
  static Sampler with_self_loops(const AttentionGraph& graph, uint64_t seed);

  // Appends to `edges` the positions (in graph.neighbours) of up to k edges of `node`, ascending,
  // hence grouped by type. Returns how many: all of them where there are no more than k.
  size_t draw(NodeId node, size_t layer, size_t k, uint32_t epoch, EdgeOffset* edges) const;
  size_t most(size_t k) const { return k + (self_loops_ ? 1 : 0); }  // that a draw returns

  const AttentionGraph& graph() const { return graph_; }
  const Scores* scores() const { return scores_; }

 private:
  size_t draw_from(EdgeOffset begin, EdgeOffset end, size_t layer, size_t k, uint32_t epoch,
                   EdgeOffset* edges) const;

  const AttentionGraph& graph_;
  const Scores* scores_;
  Sampling sampling_;
  uint64_t seed_;
  bool self_loops_ = false;
};

}  // namespace spex
