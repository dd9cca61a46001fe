#include "data/formats/column_names.h"

#include <algorithm>
#include <array>

#include "data/formats/fields.h"

namespace spex {
namespace {

// Pairs of names for the two ends of an edge, by how much they say.
constexpr std::array<std::pair<const char*, const char*>, 25> kEnds = {{
    {"source", "target"},
    {"src", "dst"},
    {"from", "to"},
    {"u", "v"},
    {"id_1", "id_2"},
    {"node_1", "node_2"},
    {"source_id", "target_id"},
    {"src_id", "dst_id"},
    {"from_id", "to_id"},
    {"from_node", "to_node"},
    {"source_node", "target_node"},
    {"fromnodeid", "tonodeid"},
    {"from_node_id", "to_node_id"},
    {"sourceid", "targetid"},
    {"source", "destination"},
    {"source", "dest"},
    {"src", "dest"},
    {"source", "sink"},
    {"origin", "destination"},
    {"head", "tail"},
    {"start", "end"},
    {"start_id", "end_id"},
    {":start_id", ":end_id"},
    {"citing", "cited"},
    {"follower", "followee"},
}};
constexpr std::array kIdNames = {"id",       "node_id",   "nodeid",    "node",      "name",
                                 "new_id",   "vertex",    "vertex_id", "key",       "user_id",
                                 "user",     ":id",       "paper_id",  "page_id",   "uid",
                                 "username", "node_name", "node_idx",  "node_index"};
constexpr std::array kIndexNames = {"",       "unnamed:_0", "index",   "row",
                                    "row_id", "rowid",      "rownames"};
constexpr std::array kLabelNames = {"label",  "labels",  "class", "classes",
                                    "target", "targets", "y"};
constexpr std::array kSideNames = {"weight",   "weights",   "w",       "value",     "score",
                                   "rating",   "date",      "time",    "year",      "type",
                                   "edge_id",  "edge_type", "count",   "timestamp", "ts",
                                   "relation", "label",     "datetime"};

std::string normalised(std::string_view name) {
  std::string text = lower_case(trim(name));
  std::replace(text.begin(), text.end(), ' ', '_');
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

template <class List>
bool holds(const List& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

size_t position(std::span<const std::string> names, const std::string& wanted) {
  for (size_t c = 0; c < names.size(); ++c)
    if (normalised(names[c]) == wanted) return c;
  return kNoColumn;
}

// "user_1" and "user_2", "id1" and "id2".
std::pair<size_t, size_t> find_numbered_ends(std::span<const std::string> names) {
  for (size_t c = 0; c < names.size(); ++c) {
    std::string name = normalised(names[c]);
    if (!name.ends_with('1') || name.size() < 2 || name.starts_with("column_")) continue;
    name.back() = '2';
    if (size_t other = position(names, name); other != kNoColumn) return {c, other};
  }
  return {kNoColumn, kNoColumn};
}

}  // namespace

bool is_id_name(std::string_view name) {
  return holds(kIdNames, normalised(name));
}

bool is_index_name(std::string_view name) {
  return holds(kIndexNames, normalised(name));
}

bool is_label_name(std::string_view name) {
  std::string text = normalised(name);
  return holds(kLabelNames, text) || text.ends_with("_label") || text.ends_with("_class") ||
         text.ends_with("_target");
}

bool is_edge_id_name(std::string_view name) {
  std::string text = normalised(name);
  return text == "id" || text == "edge_id" || text == "edgeid" || text == "edge";
}

bool is_side_name(std::string_view name) {
  std::string text = normalised(name);
  return holds(kSideNames, text) || text.ends_with("_date") || text.ends_with("_time");
}

bool is_column_word(std::string_view name) {
  std::string text = normalised(name);
  bool end = std::any_of(kEnds.begin(), kEnds.end(), [&](const auto& ends) {
    return text == ends.first || text == ends.second || text == "id1" || text == "id2" ||
           text == "node1" || text == "node2";
  });
  return end || holds(kIdNames, text) || holds(kLabelNames, text) || text == "weight";
}

std::pair<size_t, size_t> find_ends(std::span<const std::string> names) {
  std::pair<size_t, size_t> half{kNoColumn, kNoColumn};
  for (const auto& [source, target] : kEnds) {
    std::pair<size_t, size_t> found{position(names, source), position(names, target)};
    if (found.first != kNoColumn && found.second != kNoColumn) return found;
    if (half.first == kNoColumn && half.second == kNoColumn) half = found;
  }
  auto numbered = find_numbered_ends(names);
  return numbered.first != kNoColumn ? numbered : half;
}

bool names_both_ends(std::span<const std::string> names) {
  auto [source, target] = find_ends(names);
  return source != kNoColumn && target != kNoColumn;
}

}  // namespace spex
