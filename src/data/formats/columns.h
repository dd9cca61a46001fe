// Which column of a table is what: by what the user said, else by names, else by place.
#pragma once

#include <spex/data/reader.h>

#include <cstddef>
#include <string>
#include <vector>

#include "data/formats/column_names.h"
#include "data/formats/csv.h"

namespace spex {

// By name, or by number from 1; throws, listing the columns, if there is none.
size_t find_column(const CsvReader& csv, const std::string& wanted);
bool has_column(const CsvReader& csv, const std::string& wanted);

struct EdgeColumns {
  size_t source = 0;
  size_t target = 1;
  bool known = false;          // by the user or by their names, not by their places
  std::vector<size_t> others;  // what else may describe an edge
};
// Says in the log which columns were taken, where there was a choice.
EdgeColumns choose_edge_columns(const CsvReader& csv, const ReadOptions& options);

}  // namespace spex
