// What the user's files call the nodes. Inside, nodes are 0 .. N-1; a prediction is joined back to
// the user's tables by these.
#pragma once

#include <spex/core/memory.h>
#include <spex/graph/csr.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spex {

// Whole numbers, or text, one per node. Neither: nodes are called by their numbers 0 .. N-1.
struct NodeKeys {
  SharedArray<uint64_t> numbers;
  SharedArray<uint64_t> offsets;  // of text: key i is text[offsets[i] .. offsets[i + 1])
  SharedArray<uint8_t> text;

  bool empty() const { return numbers.empty() && offsets.empty(); }
  bool are_text() const { return !offsets.empty(); }
  size_t size() const { return are_text() ? offsets.size() - 1 : numbers.size(); }
  std::string_view text_of(NodeId node) const;  // of text
  std::string of(NodeId node) const;            // as the user's files write it
};

// Finds nodes by their keys. `keys` must outlive it.
class KeyIndex {
 public:
  KeyIndex(const NodeKeys& keys, size_t nodes);
  ~KeyIndex();
  // Throws, naming the key, if no node is called so.
  NodeId find(std::string_view key) const;

 private:
  struct Tables;
  size_t nodes_;
  std::unique_ptr<Tables> tables_;
};

}  // namespace spex
