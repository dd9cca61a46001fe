// Each loss is a mean of terms, perhaps weighted by row; the terms and their derivatives are
// computed a row at a time. Kept for backward: the logits (or predictions), which their maker keeps
// or frees after.
#include <spex/core/threads.h>
#include <spex/ops/losses.h>

#include <algorithm>
#include <cmath>

#include "ops/checks.h"
#include "ops/loss_rows.h"

namespace spex {
namespace {

constexpr size_t kRows = 1024;  // per block

// The sum of the terms, and their number.
struct Total {
  double loss = 0, terms = 0;
  Total& operator+=(const Total& other) {
    loss += other.loss;
    terms += other.terms;
    return *this;
  }
};

// What to take the mean over.
struct Subset {
  std::span<const NodeId> rows;
  std::span<const float> weights;  // by node, or empty: ones
  double weight(NodeId row) const { return weights.empty() ? 1.0 : weights[row]; }
};

// The loss as a Var. row_term(r, d) returns what row r adds and, unless d is null, adds the
// derivative of its terms by the row's logits, times d's scale, to d's row.
struct RowGradient {
  float* row;
  double scale;
};

template <class RowTerm>
Var loss(Tape& tape, const Var& logits, const Subset& subset, const char* what, RowTerm row_term) {
  std::span<const NodeId> rows = subset.rows;
  require(!rows.empty(), "{}: no rows to take the mean over", what);
  for (NodeId row : rows)
    require(row < logits.rows(), "{}: row {} of {}", what, row, logits.rows());
  require(subset.weights.empty() || subset.weights.size() == logits.rows(),
          "{}: {} weights for {} rows", what, subset.weights.size(), logits.rows());
  Total total = parallel_sum(rows.size(), kRows, Total{}, [&](size_t begin, size_t end) {
    Total part;
    for (size_t i = begin; i < end; ++i) {
      Total of_row = row_term(logits.value().row(rows[i]), rows[i], nullptr);
      part += {subset.weight(rows[i]) * of_row.loss, of_row.terms};
    }
    return part;
  });
  Matrix value(1, 1, MemoryTag::activations);
  value(0, 0) = total.terms > 0 ? static_cast<float>(total.loss / total.terms) : 0.0F;
  return tape.result(std::move(value), {logits},
                     [kept = logits.keep(), dlogits = logits.gradient(), subset,
                      terms = total.terms, row_term](ConstMatrixView dloss) {
                       ConstMatrixView x = kept->view();
                       MatrixView out = dlogits->accumulator(x.rows, x.cols);
                       if (terms == 0) return;
                       double scale = dloss(0, 0) / terms;
                       std::span<const NodeId> rows = subset.rows;
                       parallel_for(rows.size(), kRows, [&](size_t begin, size_t end) {
                         for (size_t i = begin; i < end; ++i) {
                           RowGradient d = {out.row(rows[i]), scale * subset.weight(rows[i])};
                           row_term(x.row(rows[i]), rows[i], &d);
                         }
                       });
                     });
}

Total logistic_terms(const float* z, const float* targets, size_t count, const RowGradient* d) {
  LossTerms terms = SPEX_CALL(logistic_row, d ? d->row : nullptr, z, targets,
                              static_cast<float>(d ? d->scale : 0.0), count);
  return {terms.loss, static_cast<double>(terms.present)};
}

Total squared_terms(const float* z, const float* targets, size_t count, const RowGradient* d) {
  Total total;
  for (size_t c = 0; c < count; ++c) {
    if (std::isnan(targets[c])) continue;
    double difference = double{z[c]} - targets[c];
    total += {difference * difference, 1.0};
    if (d) d->row[c] += static_cast<float>(d->scale * 2 * difference);
  }
  return total;
}

void check_targets(const Var& logits, ConstMatrixView targets, const char* what) {
  require(targets.rows == logits.rows() && targets.cols == logits.cols(),
          "{}: targets of {} x {} for {} x {}", what, targets.rows, targets.cols, logits.rows(),
          logits.cols());
}

void check_classes(std::span<const int32_t> classes, std::span<const NodeId> rows, size_t nodes,
                   size_t count, const char* what) {
  require(classes.size() == nodes, "{}: {} classes for {} rows", what, classes.size(), nodes);
  for (NodeId row : rows)
    if (row < nodes)
      require(classes[row] >= 0 && static_cast<size_t>(classes[row]) < count,
              "{}: node {} has class {}, expected 0 .. {}", what, row, classes[row], count - 1);
}

}  // namespace

// dlogits = weight (softmax(logits) - onehot(class)) / (number of rows)
Var softmax_cross_entropy(Tape& tape, const Var& logits, std::span<const int32_t> classes,
                          std::span<const NodeId> rows, std::span<const float> row_weights) {
  size_t count = logits.cols();
  check_classes(classes, rows, logits.rows(), count, "softmax_cross_entropy");
  auto row_term = [=](const float* z, NodeId row, const RowGradient* d) {
    auto label = static_cast<size_t>(classes[row]);
    auto scale = static_cast<float>(d ? d->scale : 0.0);
    LogSum log_sum = SPEX_CALL(softmax_row, d ? d->row : nullptr, z, scale, count);
    if (d) d->row[label] -= scale;
    return Total{std::log(double{log_sum.sum}) + log_sum.largest - z[label], 1.0};
  };
  return loss(tape, logits, {rows, row_weights}, "softmax_cross_entropy", row_term);
}

// dlogits = weight (sigmoid(logits) - targets) / (number present)
Var binary_cross_entropy(Tape& tape, const Var& logits, ConstMatrixView targets,
                         std::span<const NodeId> rows, std::span<const float> row_weights) {
  check_targets(logits, targets, "binary_cross_entropy");
  auto row_term = [targets](const float* z, NodeId row, const RowGradient* d) {
    return logistic_terms(z, targets.row(row), targets.cols, d);
  };
  return loss(tape, logits, {rows, row_weights}, "binary_cross_entropy", row_term);
}

Var binary_cross_entropy(Tape& tape, const Var& logits, std::span<const int32_t> classes,
                         std::span<const NodeId> rows, std::span<const float> row_weights) {
  require_shape(logits, logits.rows(), 1, "binary_cross_entropy");
  check_classes(classes, rows, logits.rows(), 2, "binary_cross_entropy");
  auto row_term = [classes](const float* z, NodeId row, const RowGradient* d) {
    auto target = static_cast<float>(classes[row]);
    return logistic_terms(z, &target, 1, d);
  };
  return loss(tape, logits, {rows, row_weights}, "binary_cross_entropy", row_term);
}

// dprediction = 2 weight (prediction - targets) / (number present)
Var mean_squared_error(Tape& tape, const Var& prediction, ConstMatrixView targets,
                       std::span<const NodeId> rows, std::span<const float> row_weights) {
  check_targets(prediction, targets, "mean_squared_error");
  auto row_term = [targets](const float* z, NodeId row, const RowGradient* d) {
    return squared_terms(z, targets.row(row), targets.cols, d);
  };
  return loss(tape, prediction, {rows, row_weights}, "mean_squared_error", row_term);
}

}  // namespace spex
