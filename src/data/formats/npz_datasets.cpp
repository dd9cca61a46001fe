#include "data/formats/npz_datasets.h"

#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/log.h>

#include <algorithm>
#include <cmath>

#include "data/formats/label_values.h"
#include "data/formats/tables.h"

namespace spex {
namespace {

void check_count(size_t has, size_t expected, const NpyArray& array, const char* what) {
  require(has == expected, "{}: has {} entries, expected {} ({})", array.where(), has, expected,
          what);
}

// A short file cannot ask for a graph of billions of empty rows.
void check_claim(int64_t nodes, size_t edges, const NpyArray& array) {
  constexpr int64_t kFew = 1 << 20, kPerEdge = 64;
  require(nodes < UINT32_MAX - 1 && nodes <= kFew + kPerEdge * static_cast<int64_t>(edges),
          "{}: {} nodes are more than {} edges can connect; number the nodes from 0", array.where(),
          nodes, edges);
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
  check_count(by_split ? array.cols() : array.rows(), nodes, array, "one per node");
  require(array.size() > 0, "{}: holds no mask", array.where());
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
  require(!array.is_text() || outputs == 1, "{}: expected one class name per node", array.where());
  if (array.is_text()) return set_text_labels(draft, array.strings(), task, array.where());
  std::vector<double> values = array.doubles();
  for (double v : values) require(!std::isinf(v), "{}: a label is not finite", array.where());
  set_wide_labels(draft, values, outputs, task, array.where());
}

// Where NaN stands for a missing value, as in tables: the column's mean, and a flag.
size_t fill_missing_of(Growing<float>& values, size_t rows, size_t cols, const std::string& where) {
  size_t wide = fill_missing(values, rows, cols);
  if (wide > cols)
    log("{}: missing values in {} columns became their column's mean; as many columns were added "
        "that say where",
        where, wide - cols);
  return wide;
}

Features read_features(const NpyArray& array) {
  Buffer<float> values = array.floats();
  size_t rows = array.rows(), cols = array.cols();
  if (std::none_of(values.begin(), values.end(), [](float v) { return std::isnan(v); }))
    return pack_features(std::move(values), rows, cols);
  Growing<float> filled;
  filled.assign(values.begin(), values.end());
  cols = fill_missing_of(filled, rows, cols, array.where());
  values = Buffer<float>(filled.size(), MemoryTag::features);
  std::copy(filled.span().begin(), filled.span().end(), values.begin());
  return pack_features(std::move(values), rows, cols);
}

// Without features, labels and a count, the nodes are those up to the largest id.
size_t nodes_by_ids(const std::vector<int64_t>& ids, const NpyArray& array) {
  int64_t largest = ids.empty() ? -1 : *std::max_element(ids.begin(), ids.end());
  check_claim(largest, ids.size() / 2, array);
  log("{}: there are no features and labels, so its nodes are 0 to {}", array.where(), largest);
  return static_cast<size_t>(std::max<int64_t>(largest, -1) + 1);
}

// Both ends of all edges, as [edges, 2] or [2, edges]; of two edges `by_end` decides.
void read_ends(Draft& draft, const NpyArray& array, bool by_end) {
  require(array.shape().size() == 2 && (array.rows() == 2 || array.cols() == 2),
          "{}: is {} x {}, expected two rows or two columns", array.where(), array.rows(),
          array.cols());
  if (array.rows() != array.cols()) by_end = array.rows() == 2;
  std::vector<int64_t> ids = array.integers();
  size_t edges = ids.size() / 2;
  if (draft.nodes == 0) draft.nodes = nodes_by_ids(ids, array);
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
  size_t edges = draft.sources.size();
  std::vector<const NpyArray*> arrays;
  for (const char* name : {"edge_attr", "edge_features", "edge_weight"}) {
    if (!archive.contains(name)) continue;
    const NpyArray& array = *arrays.emplace_back(&archive.array(name));
    check_count(array.rows(), edges, array, "a row per edge");
    draft.edge_width += array.cols();
  }
  draft.edge_values.resize(edges * draft.edge_width);
  size_t column = 0;
  for (const NpyArray* array : arrays) {
    Buffer<float> values = array->floats();
    size_t cols = array->cols();
    for (size_t i = 0; i < values.size(); ++i)
      draft.edge_values[i / cols * draft.edge_width + column + i % cols] = values[i];
    column += cols;
  }
  draft.edge_width = fill_missing_of(draft.edge_values, edges, draft.edge_width,
                                     draft.path.string() + ", edge features");
}

// As many nodes as rows of features or labels, or as the file says; 0 if it does not.
size_t declared_nodes(NpzArchive& archive, const NpyArray* features, const NpyArray* labels,
                      size_t edges) {
  if (features) return features->rows();
  if (labels) return labels->rows();
  const NpyArray* count = find_array(archive, {"num_nodes"});
  if (!count) return 0;
  std::vector<int64_t> value = count->integers();
  require(value.size() == 1 && value[0] > 0, "{}: expected the number of nodes", count->where());
  check_claim(value[0], edges, *count);
  return static_cast<size_t>(value[0]);
}

// Edge pairs, dense features, labels and masks: the heterophilous benchmarks ('edges'), and the
// fields of PyTorch Geometric ('edge_index').
Draft read_pairs(NpzArchive& archive, const ReadOptions& options) {
  Draft draft;
  draft.path = archive.path();
  bool geometric = archive.contains("edge_index");
  const NpyArray* features = find_array(archive, {"node_features", "x"});
  const NpyArray* labels = find_array(archive, {"node_labels", "y"});
  if (features)
    require(features->rows() > 0 && !features->shape().empty(),
            "{}: expected one row of features per node", features->where());
  const NpyArray& ends = archive.array(geometric ? "edge_index" : "edges");
  draft.nodes = declared_nodes(archive, features, labels, ends.size() / 2);
  if (labels) read_labels(draft, *labels, options.task);
  read_ends(draft, ends, geometric);
  read_edge_values(draft, archive);
  if (features) draft.features = read_features(*features);
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

// Values that are not all the same are weights of the edges.
void keep_weights(Draft& draft, const Buffer<float>& values) {
  if (std::equal(values.begin() + 1, values.end(), values.begin())) return;
  draft.edge_width = 1;
  draft.edge_values.assign(values.begin(), values.end());
}

// CSR adjacency and CSR attributes: the gnn-benchmark files, with `prefix` before the adjacency's
// names; or the adjacency alone, as scipy saves a matrix.
Draft read_matrices(NpzArchive& archive, const ReadOptions& options, const std::string& prefix) {
  Draft draft;
  draft.path = archive.path();
  if (const NpyArray* format = find_array(archive, {"format"}))
    require(format->strings() == std::vector<std::string>{"csr"},
            "{}: expected a matrix in CSR; in scipy: save_npz(path, matrix.tocsr())",
            format->where());
  Csr adjacency = read_csr(archive, prefix);
  require(adjacency.rows == adjacency.cols && adjacency.rows < UINT32_MAX,
          "{}: the adjacency is {} x {}, expected square", draft.path.string(), adjacency.rows,
          adjacency.cols);
  draft.nodes = adjacency.rows;
  draft.targets.assign(adjacency.columns.begin(), adjacency.columns.end());
  draft.sources.resize(draft.targets.size());
  for (size_t row = 0; row < adjacency.rows; ++row)
    std::fill(draft.sources.data() + adjacency.offsets[row],
              draft.sources.data() + adjacency.offsets[row + 1], static_cast<NodeId>(row));
  if (!adjacency.values.empty()) keep_weights(draft, adjacency.values);
  for (const char* attributes : {"attr_matrix.", "attr_"})
    if (archive.contains(std::string(attributes) + "indptr"))
      draft.features = pack_features(to_sparse(read_csr(archive, attributes)));
  if (archive.contains("labels")) read_labels(draft, archive.array("labels"), options.task);
  if (archive.contains("class_names") && draft.class_names.empty()) {
    draft.class_names = archive.array("class_names").strings();
    draft.labels.outputs = std::max(draft.labels.outputs, draft.class_names.size());
  }
  return draft;
}

}  // namespace

Draft read_npz(NpzArchive archive, const ReadOptions& options) {
  Draft draft;
  if (archive.contains("edges") || archive.contains("edge_index")) {
    draft = read_pairs(archive, options);
  } else {
    std::string prefix = archive.contains("adj_indptr")          ? "adj_"
                         : archive.contains("adj_matrix.indptr") ? "adj_matrix."
                                                                 : "";
    require(archive.contains(prefix + "indptr"),
            "{} holds neither edge pairs ('edges', 'edge_index') nor a CSR adjacency "
            "('adj_indptr', 'indptr'), but: {}",
            archive.path().string(), fmt::join(archive.names(), ", "));
    draft = read_matrices(archive, options, prefix);
  }
  if (auto unread = archive.unread(); !unread.empty())
    log("{}: arrays that are not used: {}", archive.path().string(), fmt::join(unread, ", "));
  return draft;
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
