// Whether a data set is still the one that a run was trained on.
#pragma once

#include <spex/data/dataset.h>

#include <cstdint>

namespace spex {

// Of the graph, the features and the labels; never 0. Of an array above 64 MB so much counts, evenly
// spread: what is mapped from a large file is not read as a whole.
uint64_t fingerprint(const Dataset& data);

}  // namespace spex
