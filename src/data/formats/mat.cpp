// MATLAB 5 files of two kinds: Pokec (edge_index, node_feat, label) and Facebook100 (A,
// local_info).
#include <matio.h>
#include <spex/core/error.h>
#include <spex/core/files.h>

#include <algorithm>
#include <cmath>

#include "data/formats/formats.h"
#include "data/formats/mat_check.h"

namespace spex {
namespace {

// Values column by column, as MATLAB stores them.
struct Columns {
  size_t rows = 0, cols = 0;
  std::vector<double> values;
};

class MatFile {
 public:
  explicit MatFile(const std::filesystem::path& path) : path_(path) {
    variables_ = check_mat(MappedFile::open(path)->bytes(), path);
    file_ = Mat_Open(path.c_str(), MAT_ACC_RDONLY);
    require(file_ != nullptr, "{}: matio cannot open it", path.string());
  }
  MatFile(const MatFile&) = delete;
  MatFile& operator=(const MatFile&) = delete;
  ~MatFile() { Mat_Close(file_); }

  bool contains(const std::string& name) const { return variables_.contains(name); }
  std::string names() const {
    std::string list;
    for (const auto& [name, variable] : variables_) list += (list.empty() ? "" : ", ") + name;
    return list;
  }
  Columns dense(const std::string& name) const;
  void sparse_edges(const std::string& name, Draft& draft) const;

 private:
  using Variable = std::unique_ptr<matvar_t, void (*)(matvar_t*)>;
  Variable read(const std::string& name, bool sparse) const {
    auto found = variables_.find(name);
    require(found != variables_.end(), "{} has no array '{}'", path_.string(), name);
    require(found->second.sparse == sparse, "{}: the array '{}' is {}sparse, expected {}sparse",
            path_.string(), name, sparse ? "not " : "", sparse ? "" : "not ");
    Variable variable(Mat_VarRead(file_, name.c_str()), Mat_VarFree);
    require(variable && variable->data && variable->rank == 2,
            "{}: matio cannot read the array '{}'", path_.string(), name);
    return variable;
  }
  std::filesystem::path path_;
  std::map<std::string, MatVariable> variables_;
  mat_t* file_ = nullptr;
};

template <class T>
std::vector<double> widen(const matvar_t& variable, size_t count) {
  const T* values = static_cast<const T*>(variable.data);
  return {values, values + count};
}

std::vector<double> to_doubles(const matvar_t& variable, size_t count) {
  switch (variable.class_type) {
    case MAT_C_DOUBLE:
      return widen<double>(variable, count);
    case MAT_C_SINGLE:
      return widen<float>(variable, count);
    case MAT_C_INT8:
      return widen<int8_t>(variable, count);
    case MAT_C_UINT8:
      return widen<uint8_t>(variable, count);
    case MAT_C_INT16:
      return widen<int16_t>(variable, count);
    case MAT_C_UINT16:
      return widen<uint16_t>(variable, count);
    case MAT_C_INT32:
      return widen<int32_t>(variable, count);
    case MAT_C_UINT32:
      return widen<uint32_t>(variable, count);
    case MAT_C_INT64:
      return widen<int64_t>(variable, count);
    case MAT_C_UINT64:
      return widen<uint64_t>(variable, count);
    default:
      fail("the array '{}' is of a class that is not numeric", variable.name);
  }
}

Columns MatFile::dense(const std::string& name) const {
  auto variable = read(name, false);
  Columns result{variable->dims[0], variable->dims[1], {}};
  size_t count = result.rows * result.cols;
  require(variable->nbytes == count * static_cast<size_t>(variable->data_size),
          "{}: matio read only part of the array '{}'", path_.string(), name);
  result.values = to_doubles(*variable, count);
  return result;
}

void MatFile::sparse_edges(const std::string& name, Draft& draft) const {
  auto variable = read(name, true);
  const auto& sparse = *static_cast<const mat_sparse_t*>(variable->data);
  size_t rows = variable->dims[0], cols = variable->dims[1];
  require(rows == cols, "{}: the array '{}' is {} x {}, expected square", path_.string(), name,
          rows, cols);
  require(sparse.njc == cols + 1, "{}: matio read only part of the array '{}'", path_.string(),
          name);
  draft.nodes = rows;
  for (size_t col = 0; col < cols; ++col)
    for (size_t e = sparse.jc[col]; e < sparse.jc[col + 1]; ++e) {
      draft.sources.push_back(static_cast<NodeId>(sparse.ir[e]));
      draft.targets.push_back(static_cast<NodeId>(col));
    }
}

int64_t whole(double value, const std::filesystem::path& path, const char* what, size_t place) {
  require(value == std::floor(value) && std::abs(value) < 9e15,
          "{}: entry {} of '{}' is {}, expected a whole number", path.string(), place, what, value);
  return static_cast<int64_t>(value);
}

Draft read_pokec(const MatFile& file, const std::filesystem::path& path) {
  Draft draft;
  draft.path = path;
  Columns features = file.dense("node_feat");
  draft.nodes = features.rows;
  require(draft.nodes > 0, "{} has no nodes", path.string());
  Columns label = file.dense("label");
  require(label.values.size() == draft.nodes, "{}: {} labels for {} nodes", path.string(),
          label.values.size(), draft.nodes);
  std::vector<int64_t> classes;
  for (double value : label.values) classes.push_back(whole(value, path, "label", classes.size()));
  draft.labels = class_labels(classes, path);

  Columns edges = file.dense("edge_index");
  require(edges.rows == 2, "{}: 'edge_index' is {} x {}, expected two rows", path.string(),
          edges.rows, edges.cols);
  for (size_t e = 0; e < edges.cols; ++e) {
    auto end = [&](size_t i) {
      return checked_id(whole(edges.values[i], path, "edge_index", i), draft.nodes, path,
                        fmt::format("edge {}", e));
    };
    draft.sources.push_back(end(2 * e));
    draft.targets.push_back(end(2 * e + 1));
  }
  Buffer<float> values(features.values.size(), MemoryTag::features);
  for (size_t node = 0; node < features.rows; ++node)
    for (size_t c = 0; c < features.cols; ++c)
      values[node * features.cols + c] =
          static_cast<float>(features.values[c * features.rows + node]);
  draft.features = pack_features(std::move(values), features.rows, features.cols);
  return draft;
}

// Each column's values, numbered; a node has one feature per column: the value it has there.
Features one_hot(const Columns& table, size_t skipped, const std::filesystem::path& path) {
  std::vector<uint32_t> columns(table.rows * (table.cols - 1));
  size_t width = 0, place = 0;
  for (size_t c = 0; c < table.cols; ++c) {
    if (c == skipped) continue;
    const double* column = table.values.data() + c * table.rows;
    std::vector<double> kinds(column, column + table.rows);
    for (size_t r = 0; r < table.rows; ++r) whole(column[r], path, "local_info", r);
    std::sort(kinds.begin(), kinds.end());
    kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
    for (size_t r = 0; r < table.rows; ++r)
      columns[r * (table.cols - 1) + place] = static_cast<uint32_t>(
          width + static_cast<size_t>(std::lower_bound(kinds.begin(), kinds.end(), column[r]) -
                                      kinds.begin()));
    width += kinds.size();
    ++place;
  }
  std::vector<uint64_t> offsets(table.rows + 1);
  for (size_t r = 0; r <= table.rows; ++r) offsets[r] = r * (table.cols - 1);
  std::vector<float> ones(columns.size(), 1.0F);
  return pack_features(SparseMatrix{table.rows, width, share(std::move(offsets)),
                                    share(std::move(columns)), share(std::move(ones))});
}

// local_info: status, gender, major, second major, house, year, school. The label is the gender (1
// or 2; 0 is unknown), the features are the others.
Draft read_facebook100(const MatFile& file, const std::filesystem::path& path) {
  constexpr size_t kGender = 1;
  Draft draft;
  draft.path = path;
  file.sparse_edges("A", draft);
  Columns info = file.dense("local_info");
  require(info.rows == draft.nodes && info.cols > 2,
          "{}: 'local_info' is {} x {}, expected {} rows and 7 columns", path.string(), info.rows,
          info.cols, draft.nodes);
  std::vector<int64_t> classes;
  for (size_t node = 0; node < info.rows; ++node)
    classes.push_back(whole(info.values[kGender * info.rows + node], path, "local_info", node) - 1);
  draft.labels = class_labels(classes, path);
  draft.features = one_hot(info, kGender, path);
  return draft;
}

}  // namespace

Draft read_mat(const std::filesystem::path& path) {
  MatFile file(path);
  if (file.contains("edge_index")) return read_pokec(file, path);
  if (file.contains("A")) return read_facebook100(file, path);
  fail("{} holds neither 'edge_index' (Pokec) nor 'A' (Facebook100), but: {}", path.string(),
       file.names());
}

}  // namespace spex
