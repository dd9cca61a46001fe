// Random expanders: the union of Hamiltonian cycles (Friedman's random regular graphs), both
// directions.
#pragma once

#include <spex/graph/csr.h>

#include <cstdint>

namespace spex {

struct ExpanderOptions {
  size_t degree = 30;  // even: degree / 2 cycles; 0: no edges; nodes - 1: complete
  uint64_t seed = 0;
  int tries = 100;                       // until the spectral gap is large enough; the best is kept
  size_t check_up_to_nodes = 1'000'000;  // above this the gap is not computed
};

struct Expander {
  CsrGraph graph;             // parallel edges of different cycles are kept
  bool checked = false;       // whether spectral_gap was computed
  double spectral_gap = 0.0;  // second-smallest Laplacian eigenvalue
  double required_gap = 0.0;  // 2c - 2 sqrt(2c - 1) - 0.1 for c cycles
  int tries = 1;
};

Expander make_expander(size_t nodes, const ExpanderOptions& options);

// Second-smallest eigenvalue of the Laplacian of a symmetric graph.
double spectral_gap(const CsrGraph& graph);

}  // namespace spex
