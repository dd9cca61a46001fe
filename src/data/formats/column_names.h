// What column names usually mean. Names are compared in lower case, with '_' for blanks and dashes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace spex {

inline constexpr size_t kNoColumn = static_cast<size_t>(-1);

// Whether a name is any of those below: then the row it stands in is a header.
bool is_column_word(std::string_view name);
bool names_both_ends(std::span<const std::string> names);  // as find_ends finds them

bool is_id_name(std::string_view name);     // id, node, node_id, name, key, ..
bool is_index_name(std::string_view name);  // no name, as spreadsheets number their rows; index, ..
bool is_label_name(std::string_view name);  // label, class, target, y, .., also after a '_'
bool is_edge_id_name(std::string_view name);  // of an edge among others: id, edge_id, ..
bool is_side_name(std::string_view name);     // what describes an edge: weight, date, type, ..

// The columns of the two ends of an edge: source and target, from and to, u and v, id_1 and id_2
// and any other pair that differs in 1 and 2. kNoColumn for an end that no name tells.
std::pair<size_t, size_t> find_ends(std::span<const std::string> names);

}  // namespace spex
