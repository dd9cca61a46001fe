// Geom-GCN folders: out1_graph_edges.txt, out1_node_feature_label.txt, and *_split_*.npz.
#include <spex/core/error.h>

#include <algorithm>
#include <cmath>

#include "data/formats/formats.h"
#include "data/formats/npz_datasets.h"
#include "data/formats/numeric_csv.h"

namespace spex {
namespace {

namespace fs = std::filesystem;

struct NodeRows {
  std::vector<std::vector<float>> features;
  std::vector<int64_t> labels;
};

void parse_list(std::string_view text, std::vector<float>& values, const CsvReader& csv) {
  while (!text.empty()) {
    size_t end = std::min(text.find(','), text.size());
    float& value = values.emplace_back();
    if (!parse_number(text.substr(0, end), value) || !std::isfinite(value))
      csv.refuse(fmt::format("the feature {} is not a finite number", shown(text.substr(0, end))));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Rows come in any order; each node must come once.
NodeRows read_nodes(const fs::path& path) {
  CsvReader csv = CsvReader::open(path);
  require(csv.columns().size() == 3, "{}: {} columns, expected node, features and label",
          path.string(), csv.columns().size());
  NodeRows rows;
  std::vector<int64_t> ids;
  std::vector<std::string_view> fields;
  while (csv.next(fields)) {
    if (!parse_number(fields[0], ids.emplace_back()) || ids.back() < 0)
      csv.refuse(fmt::format("{} is not a node id from 0", shown(fields[0])));
    parse_list(trim(fields[1]), rows.features.emplace_back(), csv);
    if (!parse_number(fields[2], rows.labels.emplace_back()))
      csv.refuse(fmt::format("the label {} is not a whole number", shown(fields[2])));
  }
  NodeRows ordered{std::vector<std::vector<float>>(ids.size()), std::vector<int64_t>(ids.size())};
  std::vector<bool> seen(ids.size());
  for (size_t row = 0; row < ids.size(); ++row) {
    NodeId id = checked_id(ids[row], ids.size(), path, fmt::format("row {}", row + 1));
    require(!seen[id], "{}: node {} comes a second time, in row {}", path.string(), id, row + 1);
    seen[id] = true;
    ordered.features[id] = std::move(rows.features[row]);
    ordered.labels[id] = rows.labels[row];
  }
  return ordered;
}

// Rows of one length are values; rows of different lengths are lists of the features that are one
// (the film data set).
Features to_features(const std::vector<std::vector<float>>& rows, const fs::path& path) {
  size_t cols = rows[0].size();
  bool dense = std::all_of(rows.begin(), rows.end(), [&](auto& r) { return r.size() == cols; });
  if (!dense) {
    cols = 0;
    for (const auto& row : rows)
      for (float id : row) {
        require(id >= 0 && id == std::floor(id) && id < 1e6F,
                "{}: rows differ in length, so they should list feature ids, but one is {}",
                path.string(), id);
        cols = std::max(cols, static_cast<size_t>(id) + 1);
      }
  }
  std::vector<uint64_t> offsets = {0};
  std::vector<uint32_t> columns;
  std::vector<float> values;
  for (const auto& row : rows) {
    std::vector<std::pair<uint32_t, float>> entries;
    for (size_t c = 0; c < row.size(); ++c)
      if (dense && row[c] != 0.0F)
        entries.emplace_back(static_cast<uint32_t>(c), row[c]);
      else if (!dense)
        entries.emplace_back(static_cast<uint32_t>(row[c]), 1.0F);
    std::sort(entries.begin(), entries.end());
    entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
    for (auto& [column, value] : entries) {
      columns.push_back(column);
      values.push_back(value);
    }
    offsets.push_back(columns.size());
  }
  return pack_features(SparseMatrix{rows.size(), cols, share(std::move(offsets)),
                                    share(std::move(columns)), share(std::move(values))});
}

std::vector<Split> read_splits(const fs::path& folder, size_t nodes) {
  std::vector<fs::path> files;
  for (const fs::path& place : {folder, folder / "splits"}) {
    if (!fs::is_directory(place)) continue;
    for (const auto& entry : fs::directory_iterator(place))
      if (entry.path().filename().string().find("split") != std::string::npos &&
          entry.path().extension() == ".npz")
        files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Split> splits;
  for (const fs::path& file : files) splits.push_back(read_split_npz(file, nodes));
  return splits;
}

}  // namespace

Draft read_geom_gcn(const fs::path& folder) {
  Draft draft;
  draft.path = folder;
  fs::path node_path = folder / "out1_node_feature_label.txt";
  NodeRows rows = read_nodes(node_path);
  require(!rows.labels.empty(), "{} has no nodes", node_path.string());
  draft.nodes = rows.labels.size();
  draft.labels = class_labels(rows.labels, node_path);
  draft.features = to_features(rows.features, node_path);
  read_id_pairs(draft, CsvReader::open(folder / "out1_graph_edges.txt"));
  draft.splits = read_splits(folder, draft.nodes);
  return draft;
}

}  // namespace spex
