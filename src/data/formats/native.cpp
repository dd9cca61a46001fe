#include "data/formats/native.h"

#include <spex/core/error.h>
#include <spex/core/json_list.h>
#include <spex/data/validate.h>

#include <charconv>

namespace spex {
namespace {

constexpr const char* kTasks[] = {"classes", "binary_labels", "regression"};

// The metadata of a file: strings that are missing or are not what they should be are refused.
class Fields {
 public:
  explicit Fields(const Safetensors& file) : file_(file) {}
  const std::string& text(const std::string& key) const {
    auto found = file_.metadata().find(key);
    require(found != file_.metadata().end(), "{}: its metadata lacks '{}'", file_.path().string(),
            key);
    return found->second;
  }
  uint64_t number(const std::string& key) const {
    const std::string& value = text(key);
    uint64_t result = 0;
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (error != std::errc() || end != value.data() + value.size()) refuse(key, "a whole number");
    return result;
  }
  bool flag(const std::string& key) const {
    uint64_t value = number(key);
    if (value > 1) refuse(key, "0 or 1");
    return value == 1;
  }
  std::vector<std::string> list(const std::string& key) const {
    auto values = parse_json_list(text(key));
    if (!values) refuse(key, "a JSON list of strings");
    return *std::move(values);
  }
  [[noreturn]] void refuse(const std::string& key, const char* expected) const {
    fail("{}: its metadata '{}' is '{}', expected {}", file_.path().string(), key, text(key),
         expected);
  }

 private:
  const Safetensors& file_;
};

void check_ends(const SharedArray<uint64_t>& offsets, size_t items, const Safetensors& file,
                const char* name) {
  require(!offsets.empty() && offsets[0] == 0 && offsets[offsets.size() - 1] == items,
          "{}: the array '{}' does not run from 0 to {}", file.path().string(), name, items);
}

Features read_features(const Safetensors& file, const Fields& fields, size_t nodes) {
  size_t cols = fields.number("feature_count");
  if (!file.contains("features.offsets"))
    return DenseFeatures{nodes, cols, file.array<float>("features", {nodes, cols})};
  auto columns = file.array<uint32_t>("features.columns");
  SparseMatrix sparse{nodes, cols, file.array<uint64_t>("features.offsets", {nodes + 1}), columns,
                      file.array<float>("features.values", {columns.size()})};
  check_ends(sparse.offsets, columns.size(), file, "features.offsets");
  return sparse;
}

Labels read_labels(const Safetensors& file, const Fields& fields, size_t nodes) {
  Labels labels;
  labels.outputs = fields.number("outputs");
  const std::string& task = fields.text("task");
  auto known = std::find(std::begin(kTasks), std::end(kTasks), task);
  if (known == std::end(kTasks)) fields.refuse("task", "classes, binary_labels or regression");
  labels.task = static_cast<Task>(known - std::begin(kTasks));
  if (labels.outputs == 0) return labels;
  if (labels.task == Task::classes)
    labels.classes = file.array<int32_t>("labels", {nodes});
  else
    labels.values = file.array<float>("labels", {nodes, labels.outputs});
  return labels;
}

NodeKeys read_keys(const Safetensors& file, size_t nodes) {
  NodeKeys keys;
  if (file.contains("keys")) keys.numbers = file.array<uint64_t>("keys", {nodes});
  if (!file.contains("keys.offsets")) return keys;
  keys.offsets = file.array<uint64_t>("keys.offsets", {nodes + 1});
  keys.text = file.array<uint8_t>("keys.text");
  check_ends(keys.offsets, keys.text.size(), file, "keys.offsets");
  return keys;
}

std::vector<Split> read_splits(const Safetensors& file, size_t count) {
  std::vector<Split> splits;
  for (size_t s = 0; s < count; ++s) {
    std::string prefix = fmt::format("split.{}.", s);
    splits.push_back({file.array<NodeId>(prefix + "train"),
                      file.array<NodeId>(prefix + "validation"),
                      file.array<NodeId>(prefix + "test")});
  }
  return splits;
}

std::map<std::string, std::string> describe(const Dataset& dataset) {
  auto flag = [](bool value) { return std::string(value ? "1" : "0"); };
  return {{"format", kNativeFormat},
          {"version", kNativeVersion},
          {"name", dataset.name},
          {"source", dataset.source},
          {"synthetic", flag(dataset.synthetic)},
          {"symmetric", flag(dataset.graph.symmetric)},
          {"feature_count", std::to_string(feature_count(dataset.features))},
          {"task", kTasks[static_cast<size_t>(dataset.labels.task)]},
          {"outputs", std::to_string(dataset.labels.outputs)},
          {"class_names", to_json_list(dataset.class_names)},
          {"splits", std::to_string(dataset.splits.size())},
          {"edge_feature_count", std::to_string(dataset.edge_feature_count)},
          {"duplicates_removed", std::to_string(dataset.cleaning.duplicates_removed)},
          {"self_loops_removed", std::to_string(dataset.cleaning.self_loops_removed)},
          {"edges_reversed", std::to_string(dataset.cleaning.edges_reversed)}};
}

template <class T>
void add(std::vector<TensorSource>& arrays, std::string name, const SharedArray<T>& values,
         std::vector<size_t> shape) {
  arrays.push_back(tensor<T>(std::move(name), values.span(), std::move(shape)));
}

void add_features(std::vector<TensorSource>& arrays, const Features& features) {
  if (const auto* dense = std::get_if<DenseFeatures>(&features))
    return add(arrays, "features", dense->values, {dense->rows, dense->cols});
  const auto& sparse = std::get<SparseMatrix>(features);
  add(arrays, "features.offsets", sparse.offsets, {sparse.offsets.size()});
  add(arrays, "features.columns", sparse.columns, {sparse.columns.size()});
  add(arrays, "features.values", sparse.values, {sparse.values.size()});
}

void add_keys(std::vector<TensorSource>& arrays, const NodeKeys& keys) {
  if (!keys.numbers.empty()) add(arrays, "keys", keys.numbers, {keys.numbers.size()});
  if (!keys.are_text()) return;
  add(arrays, "keys.offsets", keys.offsets, {keys.offsets.size()});
  add(arrays, "keys.text", keys.text, {keys.text.size()});
}

}  // namespace

Dataset native_dataset(const Safetensors& file) {
  Fields fields(file);
  std::string where = file.path().string();
  auto format = file.metadata().find("format");
  require(format != file.metadata().end() && format->second == kNativeFormat,
          "{} is a safetensors file, but not a data set of ours", where);
  require(fields.text("version") == kNativeVersion, "{} is of version {}, this program reads {}",
          where, fields.text("version"), kNativeVersion);
  Dataset dataset;
  dataset.name = fields.text("name");
  dataset.source = where;
  dataset.synthetic = fields.flag("synthetic");
  dataset.graph = {file.array<EdgeOffset>("graph.offsets"), file.array<NodeId>("graph.neighbours"),
                   fields.flag("symmetric")};
  check_ends(dataset.graph.offsets, dataset.graph.edges(), file, "graph.offsets");
  size_t nodes = dataset.nodes();
  dataset.keys = read_keys(file, nodes);
  dataset.features = read_features(file, fields, nodes);
  dataset.labels = read_labels(file, fields, nodes);
  dataset.class_names = fields.list("class_names");
  dataset.splits = read_splits(file, fields.number("splits"));
  dataset.edge_feature_count = fields.number("edge_feature_count");
  if (dataset.edge_feature_count > 0)
    dataset.edge_features =
        file.array<float>("edge_features", {dataset.graph.edges(), dataset.edge_feature_count});
  dataset.cleaning = {fields.number("duplicates_removed"), fields.number("self_loops_removed"),
                      fields.number("edges_reversed")};
  return dataset;
}

Dataset load_native(const std::filesystem::path& path) {
  return native_dataset(Safetensors::open(path));
}

void save_native(const Dataset& dataset, const std::filesystem::path& path) {
  validate(dataset);
  std::vector<TensorSource> arrays;
  size_t nodes = dataset.nodes(), outputs = dataset.labels.outputs;
  add(arrays, "graph.offsets", dataset.graph.offsets, {nodes + 1});
  add(arrays, "graph.neighbours", dataset.graph.neighbours, {dataset.graph.edges()});
  add_keys(arrays, dataset.keys);
  add_features(arrays, dataset.features);
  if (outputs > 0 && dataset.labels.task == Task::classes)
    add(arrays, "labels", dataset.labels.classes, {nodes});
  else if (outputs > 0)
    add(arrays, "labels", dataset.labels.values, {nodes, outputs});
  for (size_t s = 0; s < dataset.splits.size(); ++s) {
    const Split& split = dataset.splits[s];
    std::string prefix = fmt::format("split.{}.", s);
    add(arrays, prefix + "train", split.train, {split.train.size()});
    add(arrays, prefix + "validation", split.validation, {split.validation.size()});
    add(arrays, prefix + "test", split.test, {split.test.size()});
  }
  if (dataset.edge_feature_count > 0)
    add(arrays, "edge_features", dataset.edge_features,
        {dataset.graph.edges(), dataset.edge_feature_count});
  write_safetensors(path, arrays, describe(dataset));
}

}  // namespace spex
