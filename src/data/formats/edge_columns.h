// The columns of an edge table beside the two ends: numbers stay numbers, text of few values
// becomes a column per value, and what is neither is left out, with a word in the log.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/formats/csv.h"
#include "data/growing.h"

namespace spex {

class EdgeValueColumns {
 public:
  // Looks at the first rows of the file to tell what the columns are.
  EdgeValueColumns(const TextFile& file, const std::vector<size_t>& columns);

  void take(const std::vector<std::string_view>& fields, const CsvReader& csv);
  // The values of all edges, row by row, into `values`; returns how many an edge has.
  size_t finish(Growing<float>& values);

 private:
  struct Column {
    size_t place;
    std::string name;
    bool text = false;
    bool left_out = false;
    std::vector<std::string> categories;  // of text, in order of appearance
  };
  float category(Column& column, std::string_view field);
  size_t spread(Growing<float>& values, size_t edges) const;
  std::string file_;
  std::vector<Column> columns_;
  Growing<float> values_;  // a number, the number of a category, or NaN
};

}  // namespace spex
