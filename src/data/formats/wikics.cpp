// WikiCS: one JSON object with features, labels, links (a list of neighbours per node), twenty
// training and validation masks, and one test mask.
#include <fmt/core.h>

#include <cmath>

#include "data/formats/formats.h"
#include "data/formats/json_file.h"

namespace spex {
namespace {

using nlohmann::json;

void check_length(const json& list, size_t expected, const std::string& what,
                  const JsonFile& file) {
  if (!list.is_array() || list.size() != expected)
    file.refuse(fmt::format("{}: expected a list of {}", what, expected));
}

void read_links(Draft& draft, const json& links, const JsonFile& file) {
  check_length(links, draft.nodes, "links", file);
  for (size_t node = 0; node < links.size(); ++node) {
    if (!links[node].is_array()) file.refuse(fmt::format("the links of node {} are no list", node));
    for (const json& target : links[node]) {
      if (!target.is_number_integer())
        file.refuse(fmt::format("a link of node {} is not a node id", node));
      draft.sources.push_back(static_cast<NodeId>(node));
      draft.targets.push_back(checked_id(target.get<int64_t>(), draft.nodes, draft.path,
                                         fmt::format("a link of node {}", node)));
    }
  }
}

Features read_rows(const json& rows, const JsonFile& file) {
  size_t cols = rows[0].is_array() ? rows[0].size() : 0;
  if (cols == 0) file.refuse("the features of node 0 are not a list");
  for (size_t node = 0; node < rows.size(); ++node)
    check_length(rows[node], cols, fmt::format("the features of node {}", node), file);
  Buffer<float> values(rows.size() * cols, MemoryTag::features);
  for (size_t node = 0; node < rows.size(); ++node)
    for (size_t c = 0; c < cols; ++c) {
      const json& value = rows[node][c];
      float number = value.is_number() ? value.get<float>() : NAN;
      if (!std::isfinite(number))
        file.refuse(fmt::format("feature {} of node {} is not a finite number", c, node));
      values[node * cols + c] = number;
    }
  return pack_features(std::move(values), rows.size(), cols);
}

SharedArray<NodeId> read_mask(const json& mask, size_t nodes, const std::string& what,
                              const JsonFile& file) {
  check_length(mask, nodes, what, file);
  std::vector<uint8_t> values;
  for (const json& value : mask) {
    bool zero_or_one = value.is_number_unsigned() && value.get<uint64_t>() <= 1;
    if (!value.is_boolean() && !zero_or_one)
      file.refuse(fmt::format("{}: expected true or false", what));
    values.push_back(value.is_boolean() ? value.get<bool>() : value.get<uint64_t>() == 1);
  }
  return nodes_in_mask(values);
}

}  // namespace

Draft read_wikics(const JsonFile& file) {
  Draft draft;
  draft.path = file.path;
  const json& features = file.array("features");
  draft.nodes = features.size();
  if (draft.nodes == 0) file.refuse("has no nodes");
  const json& labels = file.array("labels");
  check_length(labels, draft.nodes, "labels", file);
  std::vector<int64_t> classes;
  for (const json& label : labels) {
    if (!label.is_number_integer())
      file.refuse(fmt::format("the label of node {} is not a class", classes.size()));
    classes.push_back(label.get<int64_t>());
  }
  draft.labels = class_labels(classes, draft.path);
  draft.features = read_rows(features, file);
  read_links(draft, file.array("links"), file);
  if (!file.root.contains("train_masks")) return draft;
  const json& train = file.array("train_masks");
  const json& validation = file.array("val_masks");
  check_length(validation, train.size(), "val_masks", file);
  auto test = read_mask(file.array("test_mask"), draft.nodes, "test_mask", file);
  for (size_t s = 0; s < train.size(); ++s)
    draft.splits.push_back(
        {read_mask(train[s], draft.nodes, fmt::format("train_masks {}", s), file),
         read_mask(validation[s], draft.nodes, fmt::format("val_masks {}", s), file), test});
  return draft;
}

}  // namespace spex
