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
#include <spex/sample/scores.h>

#include <span>
#include <string_view>
#include <vector>

namespace spex {

enum class Sampling {
  weighted,  // in proportion to the scores
  uniform,   // all neighbours alike
  top,       // the k largest scores, no chance involved
};
std::string_view name(Sampling sampling);

class Sampler {
 public:
  // Graph and scores must outlive the sampler; uniform sampling needs no scores (pass null).
  Sampler(const AttentionGraph& graph, const Scores* scores, Sampling sampling, uint64_t seed);

  // Appends to `edges` the positions (in graph.neighbours) of up to k edges of `node`, ascending,
  // hence grouped by type. Returns how many: all of them where there are no more than k.
  size_t draw(NodeId node, size_t layer, size_t k, uint32_t epoch, EdgeOffset* edges) const;

  const AttentionGraph& graph() const { return graph_; }
  const Scores* scores() const { return scores_; }

 private:
  const AttentionGraph& graph_;
  const Scores* scores_;
  Sampling sampling_;
  uint64_t seed_;
};

}  // namespace spex
