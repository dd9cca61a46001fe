// What a reader found in its files, on the way to becoming a Dataset. Helpers here are those that
// several formats need: each turns loose values into a part of the Dataset, or refuses.
#pragma once

#include <spex/data/dataset.h>
#include <spex/data/reader.h>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/growing.h"

namespace spex {

struct Draft {
  std::filesystem::path path;
  size_t nodes = 0;
  Growing<NodeId> sources;
  Growing<NodeId> targets;
  size_t edge_width = 0;
  Growing<float> edge_values;  // edges x edge_width, in the order of sources
  NodeKeys keys;
  Features features;
  Labels labels;
  std::vector<std::string> class_names;
  std::vector<Split> splits;
};

// Builds the graph, checks everything (validate.h), and says in the log what cleaning changed.
Dataset finish(Draft draft, const ReadOptions& options);

// A vector whose values nobody will change any more.
template <class T>
SharedArray<T> share(std::vector<T> values) {
  auto owner = std::make_shared<const std::vector<T>>(std::move(values));
  std::span<const T> view = *owner;
  return {view, std::move(owner)};
}

// An id from a file, or a refusal: `what` is its place, for example "edge 3".
NodeId checked_id(int64_t id, size_t nodes, const std::filesystem::path& path,
                  const std::string& what);

// One class per node. -1 is unknown; below -1, or as large as the number of nodes, is refused: no
// honest file has more classes than nodes.
Labels class_labels(std::span<const int64_t> classes, const std::filesystem::path& path);

// Features of which few are not zero are stored as a SparseMatrix.
Features pack_features(Buffer<float> values, size_t rows, size_t cols);
Features pack_features(SparseMatrix matrix);
bool mostly_zero(std::span<const float> values, size_t rows, size_t cols);  // so few are not
inline constexpr double kSparseBelow = 0.25;                                // share of non-zeros
inline constexpr size_t kSparseFromCols = 64;  // narrower rows are as small dense

// The nodes whose mask is not zero.
SharedArray<NodeId> nodes_in_mask(std::span<const uint8_t> mask);

}  // namespace spex
