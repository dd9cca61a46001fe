// Building a CSR graph from a list of edges.
#pragma once

#include <spex/graph/csr.h>

#include <span>

namespace spex {

struct BuildOptions {
  bool undirected = true;       // add the reverse of every edge
  bool drop_duplicates = true;  // keep parallel edges once
  bool drop_self_loops = true;
};

struct BuildReport {
  uint64_t duplicates_removed = 0;
  uint64_t self_loops_removed = 0;
  uint64_t edges_reversed = 0;
};

struct BuiltGraph {
  CsrGraph graph;
  BuildReport report;
};

// Edge e goes from sources[e] to targets[e]. Throws if an id is not below `nodes`. Parallel;
// besides its input it never holds more than twice the bytes of its result.
BuiltGraph build_csr(size_t nodes, std::span<const NodeId> sources, std::span<const NodeId> targets,
                     const BuildOptions& options = {});

}  // namespace spex
