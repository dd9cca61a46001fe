#include <spex/model/model.h>

namespace spex {

size_t nodes_computed_last(const Needs& needs, size_t train_nodes, size_t nodes) {
  constexpr size_t kFewest = 256, kSmallGraph = 20'000;
  // Choosing rows has a cost: gathering them, a transpose of their own, and statistics of fewer
  // rows, for milliseconds on a small graph.
  bool looks = needs.attention || needs.local;
  bool worthwhile = nodes >= kSmallGraph && train_nodes >= kFewest && 4 * train_nodes < 3 * nodes;
  return looks && worthwhile && !needs.every_row ? train_nodes : nodes;
}

Needs all_nodes_needs(size_t layers, size_t row_floats) {
  Needs needs;
  needs.local = true;
  needs.every_row = true;
  needs.layers = layers;
  needs.row_floats = row_floats;
  needs.batching = Batching::random_nodes;
  return needs;
}

}  // namespace spex
