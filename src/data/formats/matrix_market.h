// MatrixMarket (.mtx): a square sparse matrix as a list of entries, counted from 1.
#pragma once

#include "data/formats/tables.h"

namespace spex {

bool is_matrix_market(const TextFile& file);

// Entry (i, j) is the edge from i to j, its value the edge's weight, unless it is a pattern.
EdgeTable read_matrix_market(const TextFile& file);

}  // namespace spex
