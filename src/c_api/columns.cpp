// Features, labels and masks of a data set from arrays.
#include <spex/core/error.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "c_api/arrays.h"
#include "c_api/parts.h"
#include "data/draft.h"

namespace spex::c_api {
namespace {

// The caller's own memory, which it promised to leave alone.
template <class T>
SharedArray<T> borrowed(const spex_array& array) {
  return {{static_cast<const T*>(array.data), rows(array) * columns(array)}, nullptr};
}

// Converted to T; `what` is for a number that T cannot hold.
template <class T>
Buffer<T> converted(const spex_array& array, const char* what) {
  size_t cols = columns(array);
  Buffer<T> out(rows(array) * cols, MemoryTag::features);
  visit(array, [&](auto element) {
    for (size_t r = 0; r < rows(array); ++r)
      for (size_t c = 0; c < cols; ++c) {
        auto value = element(r, c);
        if constexpr (std::is_integral_v<T>)
          require(value >= 0 && static_cast<uint64_t>(value) <= std::numeric_limits<T>::max(),
                  "{} {} is {}, which cannot be", what, r, value);
        out[r * cols + c] = static_cast<T>(value);
      }
  });
  return out;
}

// As it lies where its type is T, or a whole number of T's size: one below zero becomes one that
// is too large, and is refused with those.
template <class T>
SharedArray<T> values_of(const spex_array& array, spex_type type, spex_type twin,
                         const char* what) {
  if (is_packed(array, type) || is_packed(array, twin)) return borrowed<T>(array);
  return converted<T>(array, what);
}

// Readers keep features of which few are not zero as a sparse matrix; so do we, since a model's
// rounding depends on it.
Features dense_features(const spex_array& array) {
  check_array(array, "the features", 2, 2);
  size_t nodes = rows(array), cols = columns(array);
  if (!is_packed(array, SPEX_FLOAT32))
    return pack_features(converted<float>(array, "feature"), nodes, cols);
  SharedArray<float> values = borrowed<float>(array);
  if (!mostly_zero(values.span(), nodes, cols)) return DenseFeatures{nodes, cols, values};
  return pack_features(converted<float>(array, "feature"), nodes, cols);
}

Features sparse_features(const DatasetParts& p) {
  require(p.feature_width <= UINT32_MAX, "the features are {} wide, which cannot be",
          p.feature_width);
  SparseMatrix matrix;
  matrix.rows = rows(p.feature_offsets) - 1;
  matrix.cols = p.feature_width;
  matrix.offsets =
      values_of<uint64_t>(p.feature_offsets, SPEX_UINT64, SPEX_INT64, "the offset of row");
  matrix.columns = values_of<uint32_t>(p.feature_columns, SPEX_UINT32, SPEX_INT32, "column");
  matrix.values = values_of<float>(p.feature_values, SPEX_FLOAT32, SPEX_FLOAT32, "value");
  return matrix;
}

bool known(double value) {
  return !std::isnan(value);
}

// What the values of a column, or of several, look like.
spex_task task_by_values(const spex_array& labels) {
  bool one = columns(labels) == 1, whole = true, binary = true;
  visit(labels, [&](auto element) {
    for (size_t r = 0; r < rows(labels); ++r)
      for (size_t c = 0; c < columns(labels); ++c) {
        auto value = static_cast<double>(element(r, c));
        whole &= !known(value) || (value == std::floor(value) && value >= -1);
        binary &= !known(value) || value == 0 || value == 1 || value == -1;
      }
  });
  if (one) return whole || is_integer(labels) ? SPEX_TASK_CLASSES : SPEX_TASK_REGRESSION;
  return binary ? SPEX_TASK_BINARY_LABELS : SPEX_TASK_REGRESSION;
}

Labels classes_of(const spex_array& labels, const std::string& name) {
  std::vector<int64_t> classes(rows(labels));
  visit(labels, [&](auto element) {
    for (size_t i = 0; i < classes.size(); ++i) {
      auto value = element(i, 0);
      auto number = static_cast<double>(value);
      require(
          !known(number) || (number == std::floor(number) && std::abs(number) <= INT32_MAX),
          "the label of node {} is {}, expected a class: a whole number from 0, or -1 or NaN for "
          "unknown",
          i, value);
      classes[i] = known(number) ? static_cast<int64_t>(number) : -1;
    }
  });
  return class_labels(classes, name);
}

Labels numbers_of(const spex_array& labels, Task task) {
  Buffer<float> values(rows(labels) * columns(labels), MemoryTag::other);
  size_t at = 0;
  visit(labels, [&](auto element) {
    for (size_t r = 0; r < rows(labels); ++r)
      for (size_t c = 0; c < columns(labels); ++c) {
        auto value = static_cast<float>(element(r, c));
        bool missing = task == Task::binary_labels && value == -1.0F;
        values[at++] = missing ? std::numeric_limits<float>::quiet_NaN() : value;
      }
  });
  return {task, columns(labels), {}, std::move(values)};
}

SharedArray<NodeId> listed_nodes(const spex_array& part, const char* what, size_t nodes) {
  require(part.dimensions == 1 && is_integer(part),
          "{}: expected true and false, [nodes] or [nodes, splits], or a list of node numbers",
          what);
  std::vector<NodeId> ids(rows(part));
  visit(part, [&](auto element) {
    for (size_t i = 0; i < ids.size(); ++i)
      ids[i] = node_of(element(i), nodes, [&] { return fmt::format("{}: entry {}", what, i); });
  });
  std::sort(ids.begin(), ids.end());
  auto twice = std::adjacent_find(ids.begin(), ids.end());
  require(twice == ids.end(),
          "{}: node {} stands there twice; a mask is of true and false, not of numbers", what,
          twice == ids.end() ? 0 : *twice);
  return share(std::move(ids));
}

// One split's part: column `split` of a mask, or its only one; or a list of nodes.
SharedArray<NodeId> part_of(const spex_array& part, const char* what, size_t split, size_t nodes) {
  if (!present(part)) return {};
  if (part.type != SPEX_BOOL) return listed_nodes(part, what, nodes);
  check_array(part, what, 1, 2);
  require(rows(part) == nodes, "{}: {} rows for {} nodes", what, rows(part), nodes);
  std::vector<uint8_t> mask(nodes);
  size_t column = columns(part) == 1 ? 0 : split;
  visit(part, [&](auto element) {
    for (size_t i = 0; i < nodes; ++i) mask[i] = element(i, column) != 0;
  });
  return nodes_in_mask(mask);
}

}  // namespace

Features features_of(const DatasetParts& parts) {
  if (present(parts.feature_offsets)) return sparse_features(parts);
  if (present(parts.features)) return dense_features(parts.features);
  return DenseFeatures{};
}

Labels labels_of(const DatasetParts& parts, size_t nodes) {
  const spex_array& labels = parts.labels;
  if (!present(labels)) return {};
  require(rows(labels) == nodes, "{} labels for {} nodes", rows(labels), nodes);
  require(columns(labels) > 0, "the labels have no columns");
  spex_task task = parts.task == SPEX_TASK_BY_VALUES ? task_by_values(labels) : parts.task;
  require(task != SPEX_TASK_CLASSES || columns(labels) == 1,
          "classes are one number per node, but the labels have {} columns", columns(labels));
  if (task == SPEX_TASK_CLASSES) return classes_of(labels, parts.name);
  return numbers_of(labels, task == SPEX_TASK_REGRESSION ? Task::regression : Task::binary_labels);
}

std::vector<Split> splits_of(const DatasetParts& p, size_t nodes) {
  if (!present(p.train)) return {};
  size_t count = 1;
  for (const spex_array* part : {&p.train, &p.validation, &p.test}) {
    if (!present(*part) || part->type != SPEX_BOOL || columns(*part) == 1) continue;
    require(count == 1 || count == columns(*part),
            "the masks have {} and {} columns; each is a split, so all have as many, or one", count,
            columns(*part));
    count = columns(*part);
  }
  std::vector<Split> splits;
  for (size_t s = 0; s < count; ++s)
    splits.push_back({part_of(p.train, "the training nodes", s, nodes),
                      part_of(p.validation, "the validation nodes", s, nodes),
                      part_of(p.test, "the test nodes", s, nodes)});
  return splits;
}

}  // namespace spex::c_api
