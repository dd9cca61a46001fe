// What the graph alone says about its nodes: features for graphs that came without. An edge is seen
// from both its ends, whether the graph is symmetric or not. All are the same bytes for any number
// of threads.
#pragma once

#include <spex/graph/csr.h>
#include <spex/tensor/matrix.h>

#include <cstdint>

namespace spex {

// One column: log(1 + neighbours).
Matrix degree_features(const CsrGraph& graph);

// Column s - 1: the probability that a random walk that starts at a node is back there after s
// steps, s = 1 .. steps; 0 for a node without neighbours.
struct WalkOptions {
  size_t steps = 16;
  double exact_up_to = 2e10;  // multiplications; above, walks are drawn
  size_t walks = 64;          // drawn from each node
  uint64_t seed = 0;
};
struct WalkFeatures {
  Matrix values;
  bool exact = true;  // false: estimated without bias from drawn walks
};
WalkFeatures walk_features(const CsrGraph& graph, const WalkOptions& options = {});

// Eigenvectors of the normalised Laplacian I - D^-1/2 A D^-1/2 to its smallest eigenvalues, without
// the first one, which says no more than the degrees. Each has mean square 1, and the largest of
// its entries is positive. Where an eigenvalue comes several times (one 0 per component), its
// vectors are some basis of their space. Columns beyond the nodes there are, are zero.
struct LaplacianOptions {
  size_t vectors = 8;
  double tolerance = 1e-4;  // of the residual; graphs of up to 500 nodes are solved directly
  size_t most_rounds = 60;
  uint64_t seed = 0;
};
struct LaplacianFeatures {
  Matrix values;
  double residual = 0.0;  // the largest of a vector that was given
};
LaplacianFeatures laplacian_features(const CsrGraph& graph, const LaplacianOptions& options = {});

}  // namespace spex
