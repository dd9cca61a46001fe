// Edge list, features and labels in files of their own.
#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/log.h>
#include <spex/data/validate.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/formats/columns.h"
#include "data/formats/formats.h"
#include "data/formats/json_file.h"
#include "data/formats/tables.h"

namespace spex {
namespace {

namespace fs = std::filesystem;

// Features and labels, as far as there are any.
struct NodeTables {
  LabelTable labels;
  FeatureTable features;
  size_t rows = 0;  // nodes that a table without ids counts
  fs::path counted;
};

bool is_json(const TextFile& file) {
  std::string head = file.head(4096);
  size_t first = head.find_first_not_of(" \t\r\n");
  return first != std::string::npos && (head[first] == '{' || head[first] == '[');
}

void count_rows(NodeTables& tables, size_t rows, const fs::path& path) {
  require(tables.counted.empty() || tables.rows == rows, "{} has {} rows, but {} has {}",
          path.string(), rows, tables.counted.string(), tables.rows);
  tables.rows = rows;
  tables.counted = path;
}

// The user may name the ids' column of one table only.
void check_id_column(const TableFiles& files, const std::string& column) {
  if (column.empty()) return;
  std::vector<std::string> tables;
  for (const fs::path& path : {files.labels, files.features}) {
    if (path.empty() || is_json(TextFile::open(path))) continue;
    if (has_column(CsvReader::open(path), column)) return;
    tables.push_back(path.string());
  }
  require(!tables.empty(), "there is no table of labels or features that has the column '{}'",
          column);
  fail("{} {} no column '{}'", fmt::join(tables, " and "), tables.size() == 1 ? "has" : "have",
       column);
}

NodeTables read_node_tables(const TableFiles& files, const ReadOptions& options, NodeIds& ids) {
  NodeTables tables;
  check_id_column(files, options.id_column);
  if (!files.labels.empty()) {
    tables.labels = read_label_table(TextFile::open(files.labels), options, ids);
    if (!tables.labels.has_ids) count_rows(tables, tables.labels.values.size(), files.labels);
  }
  if (!files.features.empty()) {
    TextFile file = TextFile::open(files.features);
    // One table may hold both: a label among the features would tell all.
    bool both = !files.labels.empty() && fs::equivalent(files.features, files.labels);
    tables.features =
        is_json(file)
            ? read_feature_lists(JsonFile::open(files.features), ids)
            : read_feature_table(file, options, ids, both ? tables.labels.column : std::string());
    if (!tables.features.has_ids) count_rows(tables, tables.features.rows, files.features);
  }
  return tables;
}

bool is_labelled(const Labels& labels, size_t node) {
  return labels.task == Task::classes ? labels.classes[node] >= 0
                                      : !std::isnan(labels.values[node]);
}

// A tenth of the labelled nodes without edges, or without features, is more than chance: then two
// files do not mean the same nodes.
void warn_about(size_t count, size_t labelled, const char* lack, const fs::path& path) {
  if (count == 0) return;
  log("{}{}: {} of {} labelled nodes have no {}", 10 * count > labelled ? "warning: " : "",
      path.string(), count, labelled, lack);
}

void compare_nodes(const Draft& draft, const NodeTables& tables, const TableFiles& files) {
  if (files.labels.empty()) return;
  std::vector<bool> has_edge(draft.nodes), has_features(draft.nodes, !tables.features.has_ids);
  for (NodeId node : draft.sources.span()) has_edge[node] = true;
  for (NodeId node : draft.targets.span()) has_edge[node] = true;
  for (NodeId node : tables.features.ids) has_features[node] = true;
  size_t labelled = 0, no_edge = 0, no_features = 0;
  for (size_t node = 0; node < draft.nodes; ++node) {
    if (!is_labelled(draft.labels, node)) continue;
    ++labelled;
    no_edge += !has_edge[node];
    no_features += !has_features[node];
  }
  warn_about(no_edge, labelled, "edge", files.labels);
  warn_about(no_features, labelled, "row of features", files.labels);
}

void place(Draft& draft, const NodeTables& tables, const TableFiles& files,
           const ReadOptions& options) {
  if (!files.labels.empty()) place_labels(draft, tables.labels, options.task, files.labels);
  if (!files.features.empty())
    draft.features = place_features(tables.features, draft.nodes, files.features);
}

// MatrixMarket counts its nodes, and calls them 1, 2, ..
NodeKeys keys_from_one(size_t nodes) {
  std::vector<uint64_t> numbers(nodes);
  std::iota(numbers.begin(), numbers.end(), uint64_t{1});
  NodeKeys keys;
  keys.numbers = share(std::move(numbers));
  return keys;
}

}  // namespace

Draft read_table_files(const TableFiles& files, const ReadOptions& options) {
  NodeIds ids;
  EdgeTable edges = read_edge_table(TextFile::open(files.edges), options, ids);
  Draft draft;
  draft.path = files.edges;
  if (edges.declared_nodes > 0) {
    draft.keys = keys_from_one(edges.declared_nodes);
    ids.close(draft.keys, edges.declared_nodes);
  }
  NodeTables tables = read_node_tables(files, options, ids);
  if (edges.declared_nodes > 0)
    draft.nodes = edges.declared_nodes;
  else
    draft.nodes = tables.counted.empty()
                      ? ids.settle(files.edges)
                      : ids.settle_rows(tables.rows, tables.counted, files.edges);
  require(draft.nodes < UINT32_MAX, "{}: {} nodes, expected fewer than 2^32", files.edges.string(),
          draft.nodes);
  for (auto provisional : {edges.sources.span(), edges.targets.span(), std::span(tables.labels.ids),
                           std::span(tables.features.ids)})
    ids.renumber(provisional);
  draft.sources = std::move(edges.sources);
  draft.targets = std::move(edges.targets);
  draft.edge_width = edges.width;
  draft.edge_values = std::move(edges.values);
  if (draft.keys.empty()) draft.keys = ids.keys();
  place(draft, tables, files, options);
  compare_nodes(draft, tables, files);
  return draft;
}

Dataset with_tables(Dataset dataset, const TableFiles& files, const ReadOptions& options) {
  NodeIds ids;
  ids.close(dataset.keys, dataset.nodes());
  NodeTables tables = read_node_tables(files, options, ids);
  Draft draft;
  draft.nodes = dataset.nodes();
  require(tables.counted.empty() || tables.rows == draft.nodes, "{} has {} rows for {} nodes",
          tables.counted.string(), tables.rows, draft.nodes);
  place(draft, tables, files, options);
  if (!files.features.empty()) dataset.features = std::move(draft.features);
  if (!files.labels.empty()) {
    dataset.labels = std::move(draft.labels);
    dataset.class_names = std::move(draft.class_names);
  }
  validate(dataset);
  return dataset;
}

}  // namespace spex
