// The three kinds of table that make a data set: edges, features, labels. A table is read before
// the number of nodes is known: its ids are provisional until NodeIds::settle.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/draft.h"
#include "data/formats/csv.h"
#include "data/formats/node_ids.h"

namespace spex {

struct JsonFile;

struct EdgeTable {
  std::vector<uint64_t> sources, targets;
};
EdgeTable read_edge_table(CsvReader csv, NodeIds& ids);

// Rows in file order. Without ids, row i is node i.
struct LabelTable {
  bool has_ids = false;
  std::vector<uint64_t> ids;
  std::vector<std::string> values;  // empty: unknown
};
LabelTable read_label_table(CsvReader csv, const std::string& column, NodeIds& ids);

// Either dense rows or, from JSON, lists of the features that are one.
struct FeatureTable {
  bool has_ids = false;
  bool lists = false;
  std::vector<uint64_t> ids;
  size_t rows = 0;
  size_t cols = 0;
  std::vector<float> values;       // rows x cols
  std::vector<uint64_t> offsets;   // of lists: rows + 1
  std::vector<uint32_t> features;  // of lists
};
FeatureTable read_feature_table(CsvReader csv, NodeIds& ids);
FeatureTable read_feature_lists(const JsonFile& file, NodeIds& ids);

// Whole numbers are classes, other numbers are targets, text is class names (in sorted order).
void place_labels(Draft& draft, const LabelTable& table, const std::filesystem::path& path);
Features place_features(const FeatureTable& table, size_t nodes, const std::filesystem::path& path);

}  // namespace spex
