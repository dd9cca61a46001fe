// What a network is trained on: one graph, features, labels and splits, wherever they came from.
#pragma once

#include <spex/data/keys.h>
#include <spex/graph/csr.h>
#include <spex/tensor/matrix.h>
#include <spex/tensor/sparse_matrix.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace spex {

// A dense row-major matrix whose floats live in a Buffer or in a mapped file.
struct DenseFeatures {
  size_t rows = 0;
  size_t cols = 0;
  SharedArray<float> values;
  ConstMatrixView view() const { return {values.data(), rows, cols, cols}; }
};

using Features = std::variant<DenseFeatures, SparseMatrix>;
size_t feature_count(const Features& features);

enum class Task { classes, binary_labels, regression };

struct Labels {
  Task task = Task::classes;
  size_t outputs = 0;            // classes, binary labels, or real targets per node
  SharedArray<int32_t> classes;  // Task::classes: one per node; -1: unknown
  SharedArray<float> values;     // the other tasks: nodes x outputs; NaN: missing
};

// Node ids, ascending; the three parts do not overlap.
struct Split {
  SharedArray<NodeId> train;
  SharedArray<NodeId> validation;
  SharedArray<NodeId> test;
};

// What cleaning changed on the way in; kept so that `spex data info` can say it.
struct Cleaning {
  uint64_t duplicates_removed = 0;
  uint64_t self_loops_removed = 0;
  uint64_t edges_reversed = 0;  // directed edges that got a twin in the other direction
};

struct Dataset {
  std::string name;
  std::string source;      // the file, folder or generator call it came from
  bool synthetic = false;  // made by a generator; always said to the user
  CsrGraph graph;
  NodeKeys keys;  // what the files call the nodes; empty: 0 .. nodes-1
  Features features;
  Labels labels;
  std::vector<std::string> class_names;  // may be empty
  std::vector<Split> splits;             // stored ones; may be empty
  size_t edge_feature_count = 0;
  SharedArray<float> edge_features;  // graph.edges() x edge_feature_count, in CSR order
  Cleaning cleaning;

  size_t nodes() const { return graph.nodes(); }
};

}  // namespace spex
