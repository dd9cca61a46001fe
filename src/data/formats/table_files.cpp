// Edge list, features and labels in files of their own.
#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/log.h>
#include <spex/data/validate.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/formats/columns.h"
#include "data/formats/foreign.h"
#include "data/formats/formats.h"
#include "data/formats/json_file.h"
#include "data/formats/tables.h"

namespace spex {
namespace {

namespace fs = std::filesystem;

// The tables that describe nodes; null where there is none.
struct NodeFiles {
  const TextFile* labels = nullptr;
  const TextFile* features = nullptr;
};

// What they say.
struct NodeTables {
  LabelTable labels;
  FeatureTable features;
  size_t rows = 0;  // nodes that a table without ids counts
  fs::path counted;
};

TextFile open_table(const fs::path& path) {
  TextFile file = TextFile::open(path);
  std::string start = file.head(256);
  bool binary = start.starts_with("PK") || start.starts_with("\x93NUMPY") ||
                start.starts_with("MATLAB") || start.starts_with("\x89HDF");
  require(!binary, "{} is no table; expected text, such as CSV", path.string());
  refuse_foreign(path, start);
  return file;
}

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
void check_id_column(const NodeFiles& files, const std::string& column) {
  if (column.empty()) return;
  std::vector<std::string> tables;
  for (const TextFile* file : {files.labels, files.features}) {
    if (!file || is_json(*file)) continue;
    if (has_column(CsvReader(*file), column)) return;
    tables.push_back(file->path.string());
  }
  require(!tables.empty(), "there is no table of labels or features that has the column '{}'",
          column);
  fail("{} {} no column '{}'", fmt::join(tables, " and "), tables.size() == 1 ? "has" : "have",
       column);
}

// The name of a column of features that is the label; empty if there is none.
std::string label_among_features(const NodeFiles& files, const NodeTables& tables) {
  if (!files.labels) return "";
  if (files.labels->path == files.features->path) return tables.labels.column;
  CsvReader labels(*files.labels), features(*files.features);
  const auto& names = features.columns();
  bool both = labels.has_header() && features.has_header() &&
              std::find(names.begin(), names.end(), tables.labels.column) != names.end();
  if (both)
    log("{}: the column '{}' is the label and left out of the features",
        files.features->path.string(), tables.labels.column);
  return both ? tables.labels.column : "";
}

NodeTables read_node_tables(const NodeFiles& files, const ReadOptions& options, NodeIds& ids) {
  NodeTables tables;
  check_id_column(files, options.id_column);
  if (files.labels) {
    tables.labels = read_label_table(*files.labels, options, ids);
    if (!tables.labels.has_ids) count_rows(tables, tables.labels.values.size(), files.labels->path);
  }
  if (files.features) {
    // One table may hold both, or two the same column: a label among the features would tell all.
    tables.features = is_json(*files.features)
                          ? read_feature_lists(JsonFile::read(*files.features), ids)
                          : read_feature_table(*files.features, options, ids,
                                               label_among_features(files, tables));
    if (!tables.features.has_ids) count_rows(tables, tables.features.rows, files.features->path);
  }
  return tables;
}

bool is_labelled(const Labels& labels, size_t node) {
  return labels.task == Task::classes ? labels.classes[node] >= 0
                                      : !std::isnan(labels.values[node]);
}

// Whether nodes have edges, features or labels.
using Nodes = std::vector<bool>;

// A tenth of the labelled nodes without edges, or without features, is more than chance: then two
// files do not mean the same nodes.
void warn_about(size_t count, size_t all, const char* what, const char* lack,
                const fs::path& path) {
  if (count == 0) return;
  log("{}{}: {} of {} {} have no {}", 10 * count > all ? "warning: " : "", path.string(), count,
      all, what, lack);
}

// Two sets that are the same but for the first node of all in one and the last in the other.
bool one_off(const Nodes& a, const Nodes& b) {
  size_t last = a.size() - 1;
  return last > 1 && a[0] != b[0] && a[last] != b[last] && a[0] != a[last] &&
         std::equal(a.begin() + 1, a.end() - 1, b.begin() + 1);
}

void warn_if_one_off(const Nodes& has_edge, const Nodes& described, const fs::path& path) {
  if (one_off(has_edge, described))
    log("warning: {}: its ids and those of the edges seem to be one off: do these count from 0, "
        "and those from 1?",
        path.string());
}

// A table whose row i is node i, edges that call no node 0, and hardly another node without edges.
void warn_if_first_lacks_edges(const Nodes& has_edge, const NodeTables& tables) {
  auto lonely = static_cast<size_t>(std::count(has_edge.begin(), has_edge.end(), false));
  if (tables.counted.empty() || has_edge[0] || lonely > 1 + has_edge.size() / 20) return;
  log("warning: {}: its first row is node 0, which has no edge; if the edges count from 1, give "
      "the "
      "table a column id",
      tables.counted.string());
}

void compare_nodes(const Draft& draft, const NodeTables& tables, const NodeFiles& files) {
  Nodes has_edge(draft.nodes), has_features(draft.nodes, !tables.features.has_ids);
  Nodes has_label(draft.nodes);
  for (NodeId node : draft.sources.span()) has_edge[node] = true;
  for (NodeId node : draft.targets.span()) has_edge[node] = true;
  for (NodeId node : tables.features.ids) has_features[node] = true;
  size_t labelled = 0, no_edge = 0, no_features = 0;
  for (size_t node = 0; node < draft.nodes && files.labels; ++node) {
    if (!is_labelled(draft.labels, node)) continue;
    has_label[node] = true;
    ++labelled;
    no_edge += !has_edge[node];
    no_features += !has_features[node];
  }
  if (files.labels) {
    warn_about(no_edge, labelled, "labelled nodes", "edge", files.labels->path);
    warn_about(no_features, labelled, "labelled nodes", "row of features", files.labels->path);
    warn_if_one_off(has_edge, has_label, files.labels->path);
  }
  if (tables.features.has_ids) {
    auto lonely = std::count_if(tables.features.ids.begin(), tables.features.ids.end(),
                                [&](NodeId node) { return !has_edge[node]; });
    warn_about(static_cast<size_t>(lonely), tables.features.rows, "rows", "edge",
               files.features->path);
    warn_if_one_off(has_edge, has_features, files.features->path);
  }
  warn_if_first_lacks_edges(has_edge, tables);
}

void place(Draft& draft, const NodeTables& tables, const NodeFiles& files,
           const ReadOptions& options) {
  if (files.labels) place_labels(draft, tables.labels, options.task, files.labels->path);
  if (files.features)
    draft.features = place_features(tables.features, draft.nodes, files.features->path);
}

// MatrixMarket counts its nodes, and calls them 1, 2, ..
NodeKeys keys_from_one(size_t nodes) {
  std::vector<uint64_t> numbers(nodes);
  std::iota(numbers.begin(), numbers.end(), uint64_t{1});
  NodeKeys keys;
  keys.numbers = share(std::move(numbers));
  return keys;
}

// How many nodes there are, once all ids are known; ids become final.
size_t settle(NodeIds& ids, EdgeTable& edges, NodeTables& tables, const fs::path& path) {
  if (edges.declared_nodes > 0) {
    require(tables.counted.empty() || tables.rows == edges.declared_nodes,
            "{} has {} rows for {} nodes", tables.counted.string(), tables.rows,
            edges.declared_nodes);
    return edges.declared_nodes;
  }
  size_t nodes = tables.counted.empty() ? ids.settle(path)
                                        : ids.settle_rows(tables.rows, tables.counted, path);
  require(nodes < UINT32_MAX, "{}: {} nodes, expected fewer than 2^32", path.string(), nodes);
  for (auto provisional : {edges.sources.span(), edges.targets.span(), std::span(tables.labels.ids),
                           std::span(tables.features.ids)})
    ids.renumber(provisional);
  return nodes;
}

}  // namespace

Draft draft_of_tables(const TextFile& edge_file, const TextFile* labels, const TextFile* features,
                      const ReadOptions& options) {
  NodeIds ids;
  EdgeTable edges = read_edge_table(edge_file, options, ids);
  Draft draft;
  draft.path = edge_file.path;
  if (edges.declared_nodes > 0) {
    draft.keys = keys_from_one(edges.declared_nodes);
    ids.close(draft.keys, edges.declared_nodes);
  }
  NodeFiles files{labels, features};
  NodeTables tables = read_node_tables(files, options, ids);
  draft.nodes = settle(ids, edges, tables, edge_file.path);
  draft.sources = std::move(edges.sources);
  draft.targets = std::move(edges.targets);
  draft.edge_width = edges.width;
  draft.edge_values = std::move(edges.values);
  if (draft.keys.empty()) draft.keys = ids.keys();
  place(draft, tables, files, options);
  if (labels || features) compare_nodes(draft, tables, files);
  return draft;
}

Draft read_table_files(const TableFiles& files, const ReadOptions& options) {
  TextFile labels, features;
  if (!files.labels.empty()) labels = open_table(files.labels);
  if (!files.features.empty()) features = open_table(files.features);
  return draft_of_tables(open_table(files.edges), files.labels.empty() ? nullptr : &labels,
                         files.features.empty() ? nullptr : &features, options);
}

Dataset with_tables(Dataset dataset, const TableFiles& paths, const ReadOptions& options) {
  NodeIds ids;
  ids.close(dataset.keys, dataset.nodes());
  TextFile labels, features;
  NodeFiles files;
  if (!paths.labels.empty()) labels = open_table(paths.labels), files.labels = &labels;
  if (!paths.features.empty()) features = open_table(paths.features), files.features = &features;
  NodeTables tables = read_node_tables(files, options, ids);
  Draft draft;
  draft.nodes = dataset.nodes();
  require(tables.counted.empty() || tables.rows == draft.nodes, "{} has {} rows for {} nodes",
          tables.counted.string(), tables.rows, draft.nodes);
  place(draft, tables, files, options);
  if (files.features) dataset.features = std::move(draft.features);
  if (files.labels) {
    dataset.labels = std::move(draft.labels);
    dataset.class_names = std::move(draft.class_names);
  }
  validate(dataset);
  return dataset;
}

}  // namespace spex
