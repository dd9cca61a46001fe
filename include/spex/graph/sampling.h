// How neighbours are drawn for a model that sees a few per layer.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace spex {

enum class Sampling {
  weighted,  // in proportion to the scores
  uniform,   // all neighbours alike
  top,       // the k largest scores, no chance involved
};
std::string_view name(Sampling sampling);

struct SamplingOptions {
  Sampling kind = Sampling::weighted;
  std::vector<size_t> degrees;  // neighbours per layer, of the attention graph; empty: all
  std::vector<size_t> local;    // of the graph's own edges, besides the node itself; empty: all
  size_t resample_every = 1;    // epochs between new samples
  size_t truncate = 0;          // draw only from so many largest scores of a row; 0: from all
  bool log_scores = false;      // samples carry the logarithm of their scores
};

// How GraphSAINT draws the nodes of a subgraph. All draws are with replacement.
enum class SubgraphSampling {
  walk,  // random walks from nodes drawn uniformly
  edge,  // the ends of edges; edge (u, v) in proportion to 1 / d_u + 1 / d_v
  node,  // nodes in proportion to the size of their row, degree and self-loop
};

struct SubgraphOptions {
  SubgraphSampling kind = SubgraphSampling::walk;
  size_t draws = 3000;  // walks, edges or nodes of a subgraph
  size_t depth = 2;     // steps of a walk
  size_t rounds =
      50;  // that the sampling's bias is estimated from; each draws as many nodes as there are

  size_t steps() const {
    return kind == SubgraphSampling::walk ? depth : kind == SubgraphSampling::edge ? 1 : 0;
  }
  size_t nodes() const { return draws * (steps() + 1); }  // of a subgraph, counted repeatedly
};

}  // namespace spex
