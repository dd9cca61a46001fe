// How good predictions are, over a subset of the nodes. `rows` lists node ids; logits, predictions,
// targets and classes are indexed by node id. A metric that is undefined (no rows, one class only)
// is NaN.
#pragma once

#include <spex/graph/csr.h>
#include <spex/tensor/matrix.h>

#include <cstdint>
#include <span>

namespace spex {

// The share of rows whose largest logit is that of their class. One column: class 1 if positive.
double accuracy(ConstMatrixView logits, std::span<const int32_t> classes,
                std::span<const NodeId> rows);

// The chance that a positive scores above a negative; ties count half.
double roc_auc(std::span<const float> scores, std::span<const uint8_t> positives);
double roc_auc(ConstMatrixView logits, std::span<const int32_t> classes,
               std::span<const NodeId> rows);  // N x 1 logits, classes 0 and 1

// The mean of roc_auc over the columns that have both classes; targets are 0, 1 or NaN (missing).
double mean_roc_auc(ConstMatrixView logits, ConstMatrixView targets, std::span<const NodeId> rows);

// 1 - (squared error) / (squared distance to the column's mean), averaged over the columns whose
// targets vary; NaN targets are missing.
double r2(ConstMatrixView prediction, ConstMatrixView targets, std::span<const NodeId> rows);

}  // namespace spex
