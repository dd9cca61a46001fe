// Graphs with classes, power-law degrees and an exact number of edges, drawn in parallel.
#pragma once

#include <spex/graph/csr.h>

#include <cstdint>
#include <vector>

namespace spex {

struct BlockModel {
  std::vector<size_t> class_sizes;
  uint64_t pairs = 0;      // undirected edges; the graph has exactly twice as many directed ones
  double homophily = 0.0;  // share of the pairs drawn within a class; the others go anywhere
  double skew = 0.0;       // in [0, 1): the node of rank r in its class has a weight like r^-skew
  uint64_t seed = 0;
};

struct BlockGraph {
  CsrGraph graph;
  Buffer<int32_t> classes;  // of each node; ids are in random order
};

BlockGraph sample_block_model(const BlockModel& model);

// `nodes` cut into classes of which class c has a size like (c + 1)^-imbalance; none is empty.
std::vector<size_t> class_sizes(size_t nodes, size_t classes, double imbalance);

}  // namespace spex
