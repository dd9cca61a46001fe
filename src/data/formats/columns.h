// Which column of a table is what.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_set>

#include "data/formats/csv.h"
#include "data/formats/node_ids.h"

namespace spex {

inline constexpr size_t kNoColumn = static_cast<size_t>(-1);

// By name, or by number from 1; throws, listing the columns, if there is none.
size_t find_column(const CsvReader& csv, const std::string& wanted);

// The column called id, node, node_id or name. A table without a header has its ids first if
// `first_by_default`, and none otherwise.
size_t find_id_column(const CsvReader& csv, bool first_by_default);

// The id of a row that describes a node; refuses one that came before.
uint64_t read_row_id(const CsvReader& csv, std::string_view field, NodeIds& ids,
                     std::unordered_set<uint64_t>& seen);

}  // namespace spex
