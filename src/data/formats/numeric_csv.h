// Tables of numbers without names: what OGB and Geom-GCN folders are made of.
#pragma once

#include <functional>
#include <vector>

#include "data/draft.h"
#include "data/formats/csv.h"

namespace spex {

// All values, row by row. Empty fields and NaN are missing (NaN) if allowed, else refused.
struct NumberTable {
  size_t rows = 0;
  size_t cols = 0;
  std::vector<float> values;
};
enum class Missing { refused, allowed };
NumberTable read_numbers(CsvReader csv, Missing missing);

// Calls row(values) for each row of finite numbers.
void for_number_rows(CsvReader csv, const std::function<void(std::span<const float>)>& row);

// Two columns of node ids below `nodes`.
void read_id_pairs(Draft& draft, CsvReader csv);

std::vector<int64_t> read_integers(CsvReader csv);  // one column of whole numbers

}  // namespace spex
