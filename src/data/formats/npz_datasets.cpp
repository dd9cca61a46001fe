#include "data/formats/npz_datasets.h"

#include <fmt/format.h>
#include <spex/core/error.h>

#include <algorithm>
#include <cmath>

#include "data/formats/label_values.h"

namespace spex {
namespace {

void check_count(size_t has, size_t expected, const NpyArray& array, const char* what) {
  require(has == expected, "{}: has {} entries, expected {} ({})", array.where(), has, expected,
          what);
}

// The array under the first of these names that is there, or none.
const NpyArray* find_array(NpzArchive& archive, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (archive.contains(name)) return &archive.array(name);
  return nullptr;
}

const NpyArray& need_array(NpzArchive& archive, std::initializer_list<const char*> names) {
  const NpyArray* found = find_array(archive, names);
  require(found, "{} has no array '{}'", archive.path().string(), *names.begin());
  return *found;
}

// One mask per split. Arrays are [nodes], [splits, nodes] or [nodes, splits].
std::vector<SharedArray<NodeId>> read_masks(const NpyArray& array, size_t nodes) {
  bool wide = array.shape().size() == 2;
  bool by_split = wide && array.cols() == nodes;
  check_count(wide && !by_split ? array.rows() : array.size() / (by_split ? array.rows() : 1),
              nodes, array, "one per node");
  std::vector<uint8_t> values = array.mask(), mask(nodes);
  std::vector<SharedArray<NodeId>> masks;
  size_t splits = array.size() / nodes;
  for (size_t s = 0; s < splits; ++s) {
    for (size_t i = 0; i < nodes; ++i)
      mask[i] = values[wide && !by_split ? i * splits + s : s * nodes + i];
    masks.push_back(nodes_in_mask(mask));
  }
  return masks;
}

std::vector<Split> read_splits(NpzArchive& archive, size_t nodes) {
  const NpyArray* train = find_array(archive, {"train_masks", "train_mask"});
  if (!train) return {};
  auto training = read_masks(*train, nodes);
  auto part = [&](const NpyArray& array) {
    auto masks = read_masks(array, nodes);
    if (masks.size() == 1) masks.resize(training.size(), masks[0]);  // one for all splits
    check_count(masks.size(), training.size(), array, "as the training masks");
    return masks;
  };
  auto validation = part(need_array(archive, {"val_masks", "val_mask", "valid_mask"}));
  auto test = part(need_array(archive, {"test_masks", "test_mask"}));
  std::vector<Split> splits;
  for (size_t s = 0; s < training.size(); ++s)
    splits.push_back({training[s], validation[s], test[s]});
  return splits;
}

void read_labels(Draft& draft, const NpyArray& array, LabelTask task) {
  size_t outputs = array.shape().size() == 2 ? array.cols() : 1;
  check_count(outputs == 0 ? 0 : array.size() / outputs, draft.nodes, array, "one label per node");
  if (array.is_text()) return set_text_labels(draft, array.strings(), task, array.where());
  Buffer<float> values = array.floats();
  for (float& v : values) require(!std::isinf(v), "{}: a label is not finite", array.where());
  set_wide_labels(draft, {values.begin(), values.end()}, outputs, task, array.where());
}

// Ids as [edges, 2] or, if `by_end`, as [2, edges].
void read_ends(Draft& draft, const NpyArray& array, bool by_end) {
  require(array.shape().size() == 2 && (by_end ? array.rows() : array.cols()) == 2,
          "{}: expected two {}, not {}", array.where(), by_end ? "rows" : "columns",
          by_end ? array.rows() : array.cols());
  std::vector<int64_t> ids = array.integers();
  size_t edges = ids.size() / 2;
  draft.sources.resize(edges);
  draft.targets.resize(edges);
  for (size_t e = 0; e < edges; ++e) {
    auto check = [&](int64_t id) {
      if (id >= 0 && static_cast<uint64_t>(id) < draft.nodes) return static_cast<NodeId>(id);
      return checked_id(id, draft.nodes, draft.path, fmt::format("edge {}", e));
    };
    draft.sources[e] = check(ids[by_end ? e : 2 * e]);
    draft.targets[e] = check(ids[by_end ? edges + e : 2 * e + 1]);
  }
}

void read_edge_values(Draft& draft, NpzArchive& archive) {
  const NpyArray* array = find_array(archive, {"edge_attr", "edge_weight", "edge_features"});
  if (!array) return;
  draft.edge_width = array->shape().size() == 2 ? array->cols() : 1;
  check_count(array->size(), draft.sources.size() * draft.edge_width, *array, "a row per edge");
  Buffer<float> values = array->floats();
  draft.edge_values.assign(values.begin(), values.end());
}

// Edge pairs, dense features, labels and masks: the heterophilous benchmarks ('edges'), and the
// fields of PyTorch Geometric ('edge_index').
Draft read_pairs(NpzArchive& archive, const ReadOptions& options) {
  Draft draft;
  draft.path = archive.path();
  bool geometric = archive.contains("edge_index");
  const NpyArray& features = need_array(archive, {"node_features", "x"});
  draft.nodes = features.rows();
  require(draft.nodes > 0 && features.shape().size() == 2,
          "{}: expected one row of features per node", features.where());
  read_labels(draft, need_array(archive, {"node_labels", "y"}), options.task);
  read_ends(draft, archive.array(geometric ? "edge_index" : "edges"), geometric);
  read_edge_values(draft, archive);
  draft.features = pack_features(features.floats(), features.rows(), features.cols());
  draft.splits = read_splits(archive, draft.nodes);
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
Draft read_matrices(NpzArchive& archive, const ReadOptions& options) {
  bool dotted = archive.contains("adj_matrix.indptr");
  Draft draft;
  draft.path = archive.path();
  Csr adjacency = read_csr(archive, dotted ? "adj_matrix." : "adj_");
  require(adjacency.rows == adjacency.cols && adjacency.rows < UINT32_MAX,
          "{}: the adjacency is {} x {}, expected square", draft.path.string(), adjacency.rows,
          adjacency.cols);
  draft.nodes = adjacency.rows;
  draft.targets.assign(adjacency.columns.begin(), adjacency.columns.end());
  draft.sources.resize(draft.targets.size());
  for (size_t row = 0; row < adjacency.rows; ++row)
    std::fill(draft.sources.data() + adjacency.offsets[row],
              draft.sources.data() + adjacency.offsets[row + 1], static_cast<NodeId>(row));
  draft.features = pack_features(to_sparse(read_csr(archive, dotted ? "attr_matrix." : "attr_")));
  read_labels(draft, archive.array("labels"), options.task);
  if (archive.contains("class_names") && draft.class_names.empty()) {
    draft.class_names = archive.array("class_names").strings();
    draft.labels.outputs = std::max(draft.labels.outputs, draft.class_names.size());
  }
  return draft;
}

}  // namespace

Draft read_npz(NpzArchive archive, const ReadOptions& options) {
  if (archive.contains("edges") || archive.contains("edge_index"))
    return read_pairs(archive, options);
  if (archive.contains("adj_indptr") || archive.contains("adj_matrix.indptr"))
    return read_matrices(archive, options);
  fail(
      "{} holds neither edge pairs ('edges', 'edge_index') nor a CSR adjacency ('adj_indptr'), "
      "but: {}",
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
