// What there is to say about a data set: the numbers of `spex data info`.
#pragma once

#include <spex/data/dataset.h>

#include <cstdint>
#include <string>
#include <vector>

namespace spex {

struct ClassShare {
  std::string name;  // the class's number if it has no name
  size_t nodes = 0;
  double share = 0.0;  // of the labelled nodes
};

struct SplitSizes {
  size_t train = 0, validation = 0, test = 0;
};

struct DatasetInfo {
  std::string name, source;
  bool synthetic = false;
  bool symmetric = false;
  size_t nodes = 0;
  size_t edges = 0;  // directed: an undirected edge counts twice
  size_t max_degree = 0, median_degree = 0, degree_90 = 0, degree_99 = 0;
  double mean_degree = 0.0;
  size_t isolated_nodes = 0;  // without any edge out
  size_t self_loops = 0;      // still in the graph
  Cleaning cleaning;
  std::string first_key, last_key;  // what the files call the nodes; empty: 0 .. nodes-1
  size_t features = 0;
  bool sparse_features = false;
  double feature_density = 0.0;  // share of values that are not zero
  Task task = Task::classes;
  size_t outputs = 0;
  size_t labelled_nodes = 0;        // with a class, or at least one value
  std::vector<ClassShare> classes;  // Task::classes
  double edge_homophily = 0.0;      // Task::classes: share of edges between nodes of one class
  size_t homophily_edges = 0;       // edges between labelled nodes; 0: no homophily to speak of
  std::vector<SplitSizes> splits;
  size_t edge_feature_count = 0;
  size_t graph_bytes = 0, feature_bytes = 0, label_bytes = 0, other_bytes = 0;
};

DatasetInfo describe(const Dataset& dataset);  // parallel; the data set must be valid
std::string format(const DatasetInfo& info);   // lines for a person

}  // namespace spex
