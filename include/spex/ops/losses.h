// Losses over a subset of the nodes, as 1 x 1 values. `rows` lists node ids, each at most once;
// logits, predictions, targets, classes and weights are indexed by node id. Rows outside the subset
// get a gradient of zero. Spans and targets must outlive backward.
//
// With `row_weights` the terms of a row are multiplied by its weight; the sum is still divided by
// the number of terms. GraphSAINT's loss, and classes that count
// differently, are such weights.
#pragma once

#include <spex/graph/csr.h>
#include <spex/tensor/tape.h>

#include <cstdint>
#include <span>

namespace spex {

// Mean over rows of -log softmax(logits)[class].
Var softmax_cross_entropy(Tape& tape, const Var& logits, std::span<const int32_t> classes,
                          std::span<const NodeId> rows, std::span<const float> row_weights = {});

// Many labels per node: targets are 0, 1 or NaN (missing); the mean runs over those present.
Var binary_cross_entropy(Tape& tape, const Var& logits, ConstMatrixView targets,
                         std::span<const NodeId> rows, std::span<const float> row_weights = {});

// Two classes, 0 and 1, and one logit per node.
Var binary_cross_entropy(Tape& tape, const Var& logits, std::span<const int32_t> classes,
                         std::span<const NodeId> rows, std::span<const float> row_weights = {});

// Mean over rows and columns of (prediction - target)^2; NaN targets are missing.
Var mean_squared_error(Tape& tape, const Var& prediction, ConstMatrixView targets,
                       std::span<const NodeId> rows, std::span<const float> row_weights = {});

}  // namespace spex
