// Edge list, features and labels in files of their own.
#include <spex/core/error.h>
#include <spex/core/files.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "data/formats/formats.h"
#include "data/formats/json_file.h"
#include "data/formats/tables.h"

namespace spex {
namespace {

namespace fs = std::filesystem;

bool is_json(const fs::path& path) {
  auto file = MappedFile::open(path);
  for (std::byte b : file->bytes()) {
    char c = static_cast<char>(b);
    if (!std::isspace(static_cast<unsigned char>(c))) return c == '{' || c == '[';
  }
  return false;
}

FeatureTable read_features(const fs::path& path, NodeIds& ids) {
  if (is_json(path)) return read_feature_lists(JsonFile::open(path), ids);
  return read_feature_table(CsvReader::open(path), ids);
}

// Row i of a table without ids is node i: then its rows are all the nodes there are.
void check_against_rows(const EdgeTable& edges, size_t rows, const fs::path& table,
                        const fs::path& path) {
  for (size_t e = 0; e < edges.sources.size(); ++e)
    for (uint64_t id : {edges.sources[e], edges.targets[e]})
      require(id < rows, "{}: edge {} names node {}, but {} has {} rows", path.string(), e + 1, id,
              table.string(), rows);
}

bool contains(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return text.find(word) != std::string::npos; });
}

void set_once(fs::path& slot, const fs::path& found, const char* what) {
  require(slot.empty(),
          "{} and {} both look like {}; name one with --edges, --features or --labels",
          slot.string(), found.string(), what);
  slot = found;
}

}  // namespace

TableFiles find_tables(const fs::path& folder) {
  TableFiles files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::string name = entry.path().filename().string();
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (!contains(name, {".csv", ".tsv", ".txt", ".json", ".edges"})) continue;
    if (contains(name, {"readme", "licen"})) continue;
    if (contains(name, {"edge"}))
      set_once(files.edges, entry.path(), "the edge list");
    else if (contains(name, {"target", "label", "class"}))
      set_once(files.labels, entry.path(), "the labels");
    else if (contains(name, {"feat", ".json"}))
      set_once(files.features, entry.path(), "the features");
  }
  require(!files.edges.empty(),
          "{} is a folder of no kind we know: expected raw/edge.csv.gz (OGB), "
          "out1_graph_edges.txt (Geom-GCN), or a file with 'edge' in its name",
          folder.string());
  return files;
}

Draft read_table_files(const TableFiles& files, const ReadOptions& options) {
  NodeIds ids;
  EdgeTable edges = read_edge_table(CsvReader::open(files.edges), ids);
  LabelTable labels;
  FeatureTable features;
  size_t rows = 0;
  fs::path counted;
  if (!files.labels.empty()) {
    labels = read_label_table(CsvReader::open(files.labels), options.label_column, ids);
    if (!labels.has_ids) rows = labels.values.size(), counted = files.labels;
  }
  if (!files.features.empty()) {
    features = read_features(files.features, ids);
    if (!features.has_ids) rows = features.rows, counted = files.features;
  }
  if (!counted.empty()) {
    require(!ids.are_text(), "{} has no column called id, which node names in {} need",
            counted.string(), files.edges.string());
    check_against_rows(edges, rows, counted, files.edges);
  }
  Draft draft;
  draft.path = files.edges;
  draft.nodes = ids.settle({&edges.sources, &edges.targets, &labels.ids, &features.ids}, rows);
  require(draft.nodes < UINT32_MAX, "{}: {} nodes, expected fewer than 2^32", files.edges.string(),
          draft.nodes);
  draft.sources.assign(edges.sources.begin(), edges.sources.end());
  edges.sources = {};
  draft.targets.assign(edges.targets.begin(), edges.targets.end());
  edges.targets = {};
  if (!files.labels.empty()) place_labels(draft, labels, files.labels);
  if (!files.features.empty())
    draft.features = place_features(features, draft.nodes, files.features);
  return draft;
}

}  // namespace spex
