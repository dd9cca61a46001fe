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

// The mean over the classes that occur among the rows of 2 TP / (2 TP + FP + FN).
double macro_f1(ConstMatrixView logits, std::span<const int32_t> classes,
                std::span<const NodeId> rows);

// The mean of precision over the positives, each at its own score; equal scores come together.
double average_precision(std::span<const float> scores, std::span<const uint8_t> positives);
double average_precision(ConstMatrixView logits, std::span<const int32_t> classes,
                         std::span<const NodeId> rows);  // N x 1 logits, classes 0 and 1
double mean_average_precision(ConstMatrixView logits, ConstMatrixView targets,
                              std::span<const NodeId> rows);

// The expected calibration error of the predicted class's probability: 15 bins of equal width, the
// distance of accuracy from mean probability in each, weighted by the rows in it.
double calibration_error(ConstMatrixView logits, std::span<const int32_t> classes,
                         std::span<const NodeId> rows);

// The mean of |prediction - target|; NaN targets are missing.
double mean_absolute_error(ConstMatrixView prediction, ConstMatrixView targets,
                           std::span<const NodeId> rows);

// 1 - (squared error) / (squared distance to the column's mean), averaged over the columns whose
// targets vary; NaN targets are missing.
double r2(ConstMatrixView prediction, ConstMatrixView targets, std::span<const NodeId> rows);

}  // namespace spex
