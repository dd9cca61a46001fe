// What a network is trained for and judged by, decided from the labels.
#pragma once

#include <spex/config/config.h>
#include <spex/data/standardise.h>
#include <spex/tensor/tape.h>

namespace spex {

class Objective {
 public:
  // Labels must outlive the objective. Two classes become one logit; their default metric is
  // ROC-AUC. With a scaling, networks learn scaled targets: so is the loss, while scores are of
  // the targets as they are.
  Objective(const Labels& labels, Metric metric, const ColumnScaling& scaling = {});

  size_t outputs() const { return outputs_; }
  Metric metric() const { return metric_; }

  // The loss of those `rows` of the logits that count. Row r is node nodes[r]'s, or node r's where
  // `nodes` is empty. `weights` has one for every row of logits; empty: ones. Spans must outlive
  // backward.
  Var loss(Tape& tape, const Var& logits, std::span<const NodeId> nodes,
           std::span<const NodeId> rows, std::span<const float> weights = {});

  // Takes logits of all nodes and the node ids that count.
  double score(ConstMatrixView logits, std::span<const NodeId> nodes) const;

 private:
  Var loss_on(Tape& tape, const Var& logits, std::span<const int32_t> classes,
              ConstMatrixView values, std::span<const NodeId> rows,
              std::span<const float> weights) const;

  const Labels& labels_;
  ColumnScaling scaling_;
  Labels learned_;  // as the loss sees them
  Metric metric_;
  size_t outputs_;
  // The labels of the current batch, gathered.
  std::vector<int32_t> batch_classes_;
  Matrix batch_values_;
};

}  // namespace spex
