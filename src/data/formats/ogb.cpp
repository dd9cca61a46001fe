// OGB node-property folders: raw/*.csv.gz and split/SCHEME/{train,valid,test}.csv.gz.
#include <spex/core/error.h>

#include <algorithm>
#include <cmath>

#include "data/formats/formats.h"
#include "data/formats/label_values.h"
#include "data/formats/numeric_csv.h"

namespace spex {
namespace {

namespace fs = std::filesystem;

// FOLDER/STEM.csv.gz or FOLDER/STEM.csv; empty if neither is there.
fs::path find_csv(const fs::path& folder, const std::string& stem) {
  for (const char* ending : {".csv.gz", ".csv"})
    if (fs::path path = folder / (stem + ending); fs::exists(path)) return path;
  return {};
}

fs::path need_csv(const fs::path& folder, const std::string& stem) {
  fs::path path = find_csv(folder, stem);
  require(!path.empty(), "{} has no {}.csv.gz", folder.string(), stem);
  return path;
}

void read_edge_values(Draft& draft, const fs::path& path) {
  CsvReader csv = CsvReader::open(path);
  draft.edge_width = csv.columns().size();
  size_t edges = 0;
  draft.edge_values.reserve(draft.sources.size() * draft.edge_width);
  for_number_rows(std::move(csv), [&](std::span<const float> row) {
    require(edges++ < draft.sources.size(), "{}: more rows than the {} edges", path.string(),
            draft.sources.size());
    for (float value : row) draft.edge_values.push_back(value);
  });
  require(edges == draft.sources.size(), "{}: {} rows for {} edges", path.string(), edges,
          draft.sources.size());
}

// A node's features are the mean of those of its edges, in both directions.
NumberTable mean_over_edges(const Draft& draft) {
  size_t cols = draft.edge_width;
  std::vector<double> sums(draft.nodes * cols);
  std::vector<uint32_t> counts(draft.nodes);
  auto add = [&](NodeId node, size_t edge) {
    ++counts[node];
    for (size_t c = 0; c < cols; ++c) sums[node * cols + c] += draft.edge_values[edge * cols + c];
  };
  for (size_t e = 0; e < draft.sources.size(); ++e) {
    add(draft.sources[e], e);
    if (draft.sources[e] != draft.targets[e]) add(draft.targets[e], e);
  }
  NumberTable means{draft.nodes, cols, std::vector<float>(sums.size())};
  for (size_t i = 0; i < sums.size(); ++i)
    means.values[i] = static_cast<float>(sums[i] / std::max(1U, counts[i / cols]));
  return means;
}

void append_species(NumberTable& table, const fs::path& path) {
  std::vector<int64_t> species = read_integers(CsvReader::open(path));
  require(species.size() == table.rows, "{}: {} rows for {} nodes", path.string(), species.size(),
          table.rows);
  std::vector<int64_t> kinds = species;
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  require(kinds.size() <= 1000, "{}: {} species are too many to be columns", path.string(),
          kinds.size());
  NumberTable wide{table.rows, table.cols + kinds.size(), {}};
  wide.values.assign(wide.rows * wide.cols, 0.0F);
  for (size_t row = 0; row < table.rows; ++row) {
    std::copy_n(table.values.begin() + static_cast<std::ptrdiff_t>(row * table.cols), table.cols,
                wide.values.begin() + static_cast<std::ptrdiff_t>(row * wide.cols));
    auto kind = std::lower_bound(kinds.begin(), kinds.end(), species[row]) - kinds.begin();
    wide.values[row * wide.cols + table.cols + static_cast<size_t>(kind)] = 1.0F;
  }
  table = std::move(wide);
}

NumberTable read_features(const Draft& draft, const fs::path& raw, const ReadOptions& options) {
  NumberTable table{draft.nodes, 0, {}};
  if (fs::path path = find_csv(raw, "node-feat"); !path.empty()) {
    table = read_numbers(CsvReader::open(path), Missing::refused);
    require(table.rows == draft.nodes, "{}: {} rows for {} nodes", path.string(), table.rows,
            draft.nodes);
  } else if (draft.edge_width > 0) {
    table = mean_over_edges(draft);
  }
  if (options.species) append_species(table, need_csv(raw, "node_species"));
  return table;
}

SharedArray<NodeId> read_part(const fs::path& folder, const char* part, size_t nodes) {
  fs::path path = need_csv(folder, part);
  std::vector<NodeId> ids;
  for (int64_t id : read_integers(CsvReader::open(path)))
    ids.push_back(checked_id(id, nodes, path, fmt::format("row {}", ids.size() + 1)));
  std::sort(ids.begin(), ids.end());
  return share(std::move(ids));
}

std::vector<Split> read_ogb_splits(const fs::path& folder, size_t nodes) {
  std::vector<fs::path> schemes;
  if (fs::is_directory(folder))
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.is_directory()) schemes.push_back(entry.path());
  std::sort(schemes.begin(), schemes.end());
  std::vector<Split> splits;
  for (const fs::path& scheme : schemes)
    splits.push_back({read_part(scheme, "train", nodes), read_part(scheme, "valid", nodes),
                      read_part(scheme, "test", nodes)});
  return splits;
}

}  // namespace

Draft read_ogb(const fs::path& folder, const ReadOptions& options) {
  fs::path raw = fs::is_directory(folder / "raw") ? folder / "raw" : folder;
  Draft draft;
  draft.path = folder;
  // The labels are counted before the declared number of nodes is believed.
  fs::path label_path = need_csv(raw, "node-label"), count_path = need_csv(raw, "num-node-list");
  NumberTable labels = read_numbers(CsvReader::open(label_path), Missing::allowed);
  std::vector<int64_t> counts = read_integers(CsvReader::open(count_path));
  require(counts.size() == 1, "{}: {} graphs, expected one", count_path.string(), counts.size());
  require(counts[0] == static_cast<int64_t>(labels.rows), "{}: {} nodes, but {} has {} rows",
          count_path.string(), counts[0], label_path.string(), labels.rows);
  draft.nodes = labels.rows;
  set_wide_labels(draft, {labels.values.begin(), labels.values.end()}, labels.cols, options.task,
                  label_path.string());
  read_id_pairs(draft, CsvReader::open(need_csv(raw, "edge")));
  if (fs::path path = find_csv(raw, "edge-feat"); !path.empty()) read_edge_values(draft, path);
  NumberTable features = read_features(draft, raw, options);
  Buffer<float> values(features.values.size(), MemoryTag::features);
  std::copy(features.values.begin(), features.values.end(), values.begin());
  draft.features = pack_features(std::move(values), draft.nodes, features.cols);
  draft.splits = read_ogb_splits(folder / "split", draft.nodes);
  return draft;
}

}  // namespace spex
