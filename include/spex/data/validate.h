// Whether a data set can be trusted by code that does not look again.
#pragma once

#include <spex/data/dataset.h>

namespace spex {

// Throws one Error, naming dataset.source and the place, unless
//   - offsets ascend and every neighbour is a node; a graph called symmetric is so;
//   - there are no keys, or one per node;
//   - features have one row per node, ascending column ids in range, and are finite;
//   - classes are in range or -1; binary labels are 0, 1 or missing; targets are finite or missing;
//   - each split's parts are ascending, in range, not empty but for the test part, and do not
//     overlap.
// Parallel; one pass over memory. Readers of foreign formats and read_dataset run it; load_native
// alone does not (native.h says why).
void validate(const Dataset& dataset);

}  // namespace spex
