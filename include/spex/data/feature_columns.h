// Features in another layout, and columns put beside them.
#pragma once

#include <spex/data/dataset.h>

namespace spex {

DenseFeatures to_dense(const SparseMatrix& sparse);

// Dense stays dense, sparse sparse. One row per node.
Features with_columns(const Features& features, ConstMatrixView columns);

// A column per node that is 1 in its row and 0 in all others, after the given ones; sparse. The
// first linear layer of a model then holds a learned vector for each node.
Features with_identity(const Features& features);

}  // namespace spex
