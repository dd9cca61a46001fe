#include <spex/core/hash.h>
#include <spex/graph/attention_graph.h>

namespace spex {

uint64_t fingerprint(const AttentionGraph& graph) {
  uint64_t hash = hash_word(graph.types, graph.virtual_nodes);
  hash = hash_bytes(hash, std::as_bytes(graph.offsets.span()));
  hash = hash_bytes(hash, std::as_bytes(graph.segment_ends.span()));
  return hash_bytes(hash, std::as_bytes(graph.neighbours.span()));
}

}  // namespace spex
