// A data set from the caller's arrays: what was handed in, and the Dataset it becomes.
#pragma once

#include <spex/data/dataset.h>
#include <spex/data/reader.h>
#include <spex/spex.h>

#include <string>
#include <vector>

namespace spex {

struct DatasetParts {
  std::string name;
  size_t nodes = 0;  // 0: the arrays say
  spex_array edges{};
  spex_array adjacency_offsets{}, adjacency_columns{};
  unsigned edge_flags = 0;
  spex_array edge_features{};
  spex_array features{};
  spex_array feature_offsets{}, feature_columns{}, feature_values{};
  size_t feature_width = 0;
  spex_array labels{};
  spex_task task = SPEX_TASK_BY_VALUES;
  std::vector<std::string> class_names;
  spex_array train{}, validation{}, test{};
};

ReadOptions edge_options(unsigned flags);  // spex_edge_flags

// Throws, naming the part and the place, for whatever cannot be used.
Dataset build(const DatasetParts& parts);

namespace c_api {
Features features_of(const DatasetParts& parts);
Labels labels_of(const DatasetParts& parts, size_t nodes);
std::vector<Split> splits_of(const DatasetParts& parts, size_t nodes);
}  // namespace c_api

}  // namespace spex
