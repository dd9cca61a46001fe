// What a network is trained for and judged by, decided from the labels.
#pragma once

#include <spex/data/dataset.h>
#include <spex/tensor/tape.h>
#include <spex/train/config.h>

namespace spex {

class Objective {
 public:
  // Labels must outlive the objective. Two classes become one logit; their default metric is
  // ROC-AUC.
  Objective(const Labels& labels, Metric metric);

  size_t outputs() const { return outputs_; }
  Metric metric() const { return metric_; }

  // Both take logits of all nodes and the node ids that count.
  Var loss(Tape& tape, const Var& logits, std::span<const NodeId> rows) const;
  double score(ConstMatrixView logits, std::span<const NodeId> rows) const;

  // The loss of a batch: logits of its target nodes, in their order.
  Var batch_loss(Tape& tape, const Var& logits, std::span<const NodeId> targets);

 private:
  ConstMatrixView targets() const;
  Var loss_on(Tape& tape, const Var& logits, std::span<const int32_t> classes,
              ConstMatrixView values, std::span<const NodeId> rows) const;

  const Labels& labels_;
  Metric metric_;
  size_t outputs_;
  // The labels of the current batch, gathered.
  std::vector<int32_t> batch_classes_;
  Matrix batch_values_;
  std::vector<NodeId> batch_rows_;
};

}  // namespace spex
