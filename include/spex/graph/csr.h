// A graph in compressed sparse rows: the neighbours of node i are neighbours[offsets[i] ..
// offsets[i+1]). Immutable once built. Node ids are 32-bit, edge offsets 64-bit. The arrays are a
// Buffer's or a mapped file's: the graph does not care.
#pragma once

#include <spex/core/memory.h>

#include <cstdint>
#include <span>

namespace spex {

using NodeId = uint32_t;
using EdgeOffset = uint64_t;

struct CsrGraph {
  SharedArray<EdgeOffset> offsets;  // nodes + 1 entries
  SharedArray<NodeId> neighbours;   // ascending within a row, unless a builder says otherwise
  bool symmetric = false;           // every edge stands in both directions

  size_t nodes() const { return offsets.empty() ? 0 : offsets.size() - 1; }
  size_t edges() const { return neighbours.size(); }
  size_t degree(size_t node) const { return offsets[node + 1] - offsets[node]; }
  std::span<const NodeId> row(size_t node) const {
    return neighbours.span().subspan(offsets[node], degree(node));
  }
};

}  // namespace spex
