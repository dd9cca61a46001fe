#include "data/formats/npz_datasets.h"

#include <fmt/format.h>
#include <spex/core/error.h>

#include <algorithm>

namespace spex {
namespace {

void check_count(size_t has, size_t expected, const NpyArray& array, const char* what) {
  require(has == expected, "{}: has {} entries, expected {} ({})", array.where(), has, expected,
          what);
}

// Masks are [splits, nodes], or [nodes] for a single one.
std::vector<Split> read_masks(NpzArchive& archive, size_t nodes) {
  const NpyArray* masks[3];
  std::vector<uint8_t> values[3];
  const char* names[3] = {"train_masks", "val_masks", "test_masks"};
  for (int part = 0; part < 3; ++part) {
    masks[part] = &archive.array(names[part]);
    const NpyArray& m = *masks[part];
    size_t width = m.shape().size() == 2 ? m.cols() : m.size();
    check_count(width, nodes, m, "one per node");
    check_count(m.size(), masks[0]->size(), m, "as the training masks");
    values[part] = m.mask();
  }
  std::vector<Split> splits(masks[0]->size() / nodes);
  for (size_t s = 0; s < splits.size(); ++s) {
    auto part = [&](int p) {
      return nodes_in_mask(std::span(values[p]).subspan(s * nodes, nodes));
    };
    splits[s] = {part(0), part(1), part(2)};
  }
  return splits;
}

// Edge pairs, dense features, labels and masks: the heterophilous benchmarks.
Draft read_pairs(NpzArchive& archive) {
  Draft draft;
  draft.path = archive.path();
  const NpyArray& features = archive.array("node_features");
  draft.nodes = features.rows();
  require(draft.nodes > 0 && features.shape().size() == 2,
          "{}: expected one row of features per node", features.where());
  const NpyArray& labels = archive.array("node_labels");
  check_count(labels.size(), draft.nodes, labels, "one label per node");
  draft.labels = class_labels(labels.integers(), draft.path);

  const NpyArray& edges = archive.array("edges");
  require(edges.shape().size() == 2 && edges.cols() == 2, "{}: expected two columns, not {}",
          edges.where(), edges.cols());
  std::vector<int64_t> ids = edges.integers();
  draft.sources.resize(edges.rows());
  draft.targets.resize(edges.rows());
  for (size_t e = 0; e < edges.rows(); ++e) {
    auto check = [&](int64_t id) {
      if (id >= 0 && static_cast<uint64_t>(id) < draft.nodes) return static_cast<NodeId>(id);
      return checked_id(id, draft.nodes, draft.path, fmt::format("edge {}", e));
    };
    draft.sources[e] = check(ids[2 * e]);
    draft.targets[e] = check(ids[2 * e + 1]);
  }
  draft.features = pack_features(features.floats(), features.rows(), features.cols());
  if (archive.contains("train_masks")) draft.splits = read_masks(archive, draft.nodes);
  return draft;
}

// A matrix in CSR: PREFIXdata, PREFIXindices, PREFIXindptr, PREFIXshape.
struct Csr {
  size_t rows = 0, cols = 0;
  std::vector<int64_t> offsets, columns;
  Buffer<float> values;
};

Csr read_csr(NpzArchive& archive, const std::string& prefix) {
  auto shape = archive.array(prefix + "shape").integers();
  require(shape.size() == 2 && shape[0] >= 0 && shape[1] >= 0 && shape[1] <= UINT32_MAX,
          "{}: expected two extents", archive.array(prefix + "shape").where());
  const NpyArray& indptr = archive.array(prefix + "indptr");
  Csr csr{static_cast<size_t>(shape[0]), static_cast<size_t>(shape[1]), indptr.integers(),
          archive.array(prefix + "indices").integers(), archive.array(prefix + "data").floats()};
  check_count(csr.offsets.size(), csr.rows + 1, indptr, "one more than rows");
  check_count(csr.values.size(), csr.columns.size(), archive.array(prefix + "data"), "as indices");
  require(csr.offsets.front() == 0 && std::is_sorted(csr.offsets.begin(), csr.offsets.end()) &&
              csr.offsets.back() == static_cast<int64_t>(csr.columns.size()),
          "{}: row offsets do not ascend from 0 to the {} entries", indptr.where(),
          csr.columns.size());
  for (size_t e = 0; e < csr.columns.size(); ++e)
    require(csr.columns[e] >= 0 && csr.columns[e] < shape[1],
            "{}: entry {} is column {}, expected 0 to {}",
            archive.array(prefix + "indices").where(), e, csr.columns[e], shape[1] - 1);
  return csr;
}

// Columns of a row in order; scipy does not promise it.
SparseMatrix to_sparse(const Csr& csr) {
  Buffer<uint64_t> offsets(csr.rows + 1, MemoryTag::features);
  Buffer<uint32_t> columns(csr.columns.size(), MemoryTag::features);
  Buffer<float> values(csr.columns.size(), MemoryTag::features);
  std::copy(csr.offsets.begin(), csr.offsets.end(), offsets.begin());
  std::vector<std::pair<uint32_t, float>> row;
  for (size_t r = 0; r < csr.rows; ++r) {
    row.clear();
    for (uint64_t e = offsets[r]; e < offsets[r + 1]; ++e)
      row.emplace_back(static_cast<uint32_t>(csr.columns[e]), csr.values[e]);
    std::sort(row.begin(), row.end(), [](auto& a, auto& b) { return a.first < b.first; });
    for (size_t i = 0; i < row.size(); ++i) {
      columns[offsets[r] + i] = row[i].first;
      values[offsets[r] + i] = row[i].second;
    }
  }
  return {csr.rows, csr.cols, std::move(offsets), std::move(columns), std::move(values)};
}

// CSR adjacency and CSR attributes: the gnn-benchmark files.
Draft read_matrices(NpzArchive& archive) {
  bool dotted = archive.contains("adj_matrix.indptr");
  Draft draft;
  draft.path = archive.path();
  Csr adjacency = read_csr(archive, dotted ? "adj_matrix." : "adj_");
  require(adjacency.rows == adjacency.cols && adjacency.rows < UINT32_MAX,
          "{}: the adjacency is {} x {}, expected square", draft.path.string(), adjacency.rows,
          adjacency.cols);
  draft.nodes = adjacency.rows;
  draft.targets.assign(adjacency.columns.begin(), adjacency.columns.end());
  draft.sources.reserve(draft.targets.size());
  for (size_t row = 0; row < adjacency.rows; ++row)
    draft.sources.insert(draft.sources.end(),
                         static_cast<size_t>(adjacency.offsets[row + 1] - adjacency.offsets[row]),
                         static_cast<NodeId>(row));
  draft.features = pack_features(to_sparse(read_csr(archive, dotted ? "attr_matrix." : "attr_")));
  const NpyArray& labels = archive.array("labels");
  check_count(labels.size(), draft.nodes, labels, "one label per node");
  draft.labels = class_labels(labels.integers(), draft.path);
  if (archive.contains("class_names")) {
    draft.class_names = archive.array("class_names").strings();
    draft.labels.outputs = std::max(draft.labels.outputs, draft.class_names.size());
  }
  return draft;
}

}  // namespace

Draft read_npz(NpzArchive archive) {
  if (archive.contains("edges")) return read_pairs(archive);
  if (archive.contains("adj_indptr") || archive.contains("adj_matrix.indptr"))
    return read_matrices(archive);
  fail("{} holds neither edge pairs ('edges') nor a CSR adjacency ('adj_indptr'), but: {}",
       archive.path().string(), fmt::join(archive.names(), ", "));
}

Split read_split_npz(const std::filesystem::path& path, size_t nodes) {
  NpzArchive archive = NpzArchive::open(path);
  auto part = [&](const char* name) {
    const NpyArray& mask = archive.array(name);
    check_count(mask.size(), nodes, mask, "one per node");
    return nodes_in_mask(mask.mask());
  };
  return {part("train_mask"), part("val_mask"), part("test_mask")};
}

}  // namespace spex
