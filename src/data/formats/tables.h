// The three kinds of table that make a data set: edges, features, labels. A table is read before
// the number of nodes is known: its ids are provisional until NodeIds::settle.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/draft.h"
#include "data/formats/csv.h"
#include "data/formats/node_ids.h"
#include "data/growing.h"

namespace spex {

struct JsonFile;

struct EdgeTable {
  Growing<NodeId> sources, targets;
  size_t width = 0;
  Growing<float> values;  // edges x width: the columns beside the ends
  // MatrixMarket says how many nodes there are, and its ids are final and called 1 .. nodes.
  size_t declared_nodes = 0;
};
EdgeTable read_edge_table(const TextFile& file, const ReadOptions& options, NodeIds& ids);

// Rows in file order. Without ids, row i is node i.
struct LabelTable {
  bool has_ids = false;
  std::vector<NodeId> ids;
  std::string column;               // the label's name
  std::vector<std::string> values;  // empty: unknown
};
LabelTable read_label_table(const TextFile& file, const ReadOptions& options, NodeIds& ids);

// Either rows of numbers or, from JSON, lists of the features that are one.
struct FeatureTable {
  bool has_ids = false;
  bool lists = false;
  std::vector<NodeId> ids;
  size_t rows = 0;
  size_t cols = 0;
  Growing<float> values;           // rows x cols; NaN: missing
  std::vector<uint64_t> offsets;   // of lists: rows + 1
  std::vector<uint32_t> features;  // of lists
};
// `left_out` names a column that is no feature: the label, where one table holds both.
FeatureTable read_feature_table(const TextFile& file, const ReadOptions& options, NodeIds& ids,
                                const std::string& left_out = "");
FeatureTable read_feature_lists(const JsonFile& file, NodeIds& ids);

// All of them together; labels and features may be null.
Draft draft_of_tables(const TextFile& edges, const TextFile* labels, const TextFile* features,
                      const ReadOptions& options);

// Whole numbers are classes, unless there are so many that they must be quantities; other numbers
// are targets, text is class names (in sorted order).
void place_labels(Draft& draft, const LabelTable& table, LabelTask task,
                  const std::filesystem::path& path);
Features place_features(const FeatureTable& table, size_t nodes, const std::filesystem::path& path);

// Columns with missing values (NaN) get their mean instead, and a column after the last one says
// where: 1 for missing. `values` is rows x cols; returns the new number of columns.
size_t fill_missing(Growing<float>& values, size_t rows, size_t cols);

}  // namespace spex
