// A first look at a whole table of nodes: what each column holds, and which one names the nodes.
#pragma once

#include <spex/data/reader.h>

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "data/formats/columns.h"
#include "data/formats/node_ids.h"

namespace spex {

// Text columns with up to so many values can be told apart by them; more is free text.
inline constexpr size_t kFewValues = 32;

struct ColumnFacts {
  std::string name;
  size_t missing = 0, numbers = 0, dates = 0, texts = 0;
  size_t in_graph = 0;  // rows whose value is the id of a node
  bool unique = true;   // no value comes twice, none is missing
  // The column's values, and how often each comes, as long as they are few.
  std::map<std::string, size_t, std::less<>> values;
  bool few = true;  // there are at most kFewValues of them

  CommaNumbers commas;

  double evenness() const;  // of the values: 1 if all come equally often, 0 if only one does
};

struct TableFacts {
  bool has_header = false;
  size_t rows = 0;
  std::vector<ColumnFacts> columns;

  // Whether a column's text can become a column per value: few values, and most come again.
  bool is_category(size_t column) const;
};
TableFacts look_at(const TextFile& file, const NodeIds& ids);

// Throws if numbers of the column have commas that may separate thousands or decimals.
void check_commas(const CommaNumbers& commas, const CsvReader& csv, const std::string& column);

// The column of the nodes' ids: what the user said, else the one whose values are the graph's ids,
// else the one with a name that says so. `first`: a table without a header has them first.
size_t choose_id_column(const TableFacts& facts, const CsvReader& csv, const ReadOptions& options,
                        bool first);

// The id of a row that describes a node; refuses one that came before.
NodeId read_row_id(const CsvReader& csv, std::string_view field, NodeIds& ids,
                   std::unordered_set<NodeId>& seen);

}  // namespace spex
