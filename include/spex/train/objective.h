// What a network is trained for and judged by, decided from the labels.
#pragma once

#include <spex/config/config.h>
#include <spex/data/standardise.h>
#include <spex/tensor/tape.h>

#include <string>
#include <vector>

namespace spex {

class Objective {
 public:
  // Labels must outlive the objective. Two classes become one logit; their default metric is
  // ROC-AUC. With a scaling, networks learn scaled targets: so is the loss, while scores are of
  // the targets as they are.
  Objective(const Labels& labels, Metric metric, const ColumnScaling& scaling = {});

  // From now on every class counts the same in the loss, by its share of the training nodes.
  void balance(std::span<const NodeId> train);

  // From now on the logits are those of classes as frequent as among `validation`: the loss sees
  // them less log(share there / share among `train`), which is what training nodes drawn by class,
  // say, add by themselves. Classes that no training node has are left as they are.
  void adapt(std::span<const NodeId> train, std::span<const NodeId> validation);

  size_t outputs() const { return outputs_; }
  Metric metric() const { return metric_; }

  // The loss of those `rows` of the logits that count. Row r is node nodes[r]'s, or node r's where
  // `nodes` is empty. `weights` has one for every row of logits; empty: ones. Spans must outlive
  // backward.
  Var loss(Tape& tape, const Var& logits, std::span<const NodeId> nodes,
           std::span<const NodeId> rows, std::span<const float> weights = {});

  // Takes logits of all nodes and the node ids that count.
  double score(ConstMatrixView logits, std::span<const NodeId> nodes) const;

  // Every metric that fits the labels, by name, and the calibration error of classes.
  struct Named {
    std::string name;
    double value;
  };
  std::vector<Named> all_scores(ConstMatrixView logits, std::span<const NodeId> nodes) const;

 private:
  double score(Metric metric, ConstMatrixView logits, std::span<const NodeId> nodes) const;
  std::span<const float> weights_of(std::span<const NodeId> nodes, std::span<const float> weights,
                                    size_t rows);
  Var loss_on(Tape& tape, const Var& logits, std::span<const int32_t> classes,
              ConstMatrixView values, std::span<const NodeId> rows,
              std::span<const float> weights) const;

  const Labels& labels_;
  ColumnScaling scaling_;
  Labels learned_;  // as the loss sees them
  Metric metric_;
  size_t outputs_;
  std::vector<float> class_weights_;  // by class; empty: ones
  Matrix shift_;                      // 1 x outputs, added to logits in the loss; empty: none
  // The labels of the current batch, gathered.
  std::vector<int32_t> batch_classes_;
  Matrix batch_values_;
  std::vector<float> batch_weights_;
};

}  // namespace spex
