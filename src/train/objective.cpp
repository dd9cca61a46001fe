#include <spex/core/error.h>
#include <spex/ops/losses.h>
#include <spex/train/metrics.h>
#include <spex/train/objective.h>

namespace spex {
namespace {

Metric default_metric(const Labels& labels) {
  switch (labels.task) {
    case Task::classes:
      return labels.outputs == 2 ? Metric::roc_auc : Metric::accuracy;
    case Task::binary_labels:
      return Metric::roc_auc;
    case Task::regression:
      break;
  }
  return Metric::r2;
}

void check_metric(const Labels& labels, Metric metric) {
  bool fits = false;
  switch (metric) {
    case Metric::accuracy:
      fits = labels.task == Task::classes;
      break;
    case Metric::roc_auc:
      fits = labels.task == Task::binary_labels ||
             (labels.task == Task::classes && labels.outputs == 2);
      break;
    case Metric::r2:
      fits = labels.task == Task::regression;
      break;
    case Metric::automatic:
      break;
  }
  require(fits, "the metric {} does not fit labels with {} {}; leave split.metric at auto",
          name(metric), labels.outputs,
          labels.task == Task::classes ? "classes" : "values per node");
}

ConstMatrixView targets(const Labels& labels) {
  return {labels.values.data(), labels.values.size() / labels.outputs, labels.outputs,
          labels.outputs};
}

}  // namespace

Objective::Objective(const Labels& labels, Metric metric, const ColumnScaling& scaling)
    : labels_(labels),
      scaling_(scaling),
      learned_(scaled(labels, scaling)),
      metric_(metric == Metric::automatic ? default_metric(labels) : metric) {
  require(labels.outputs > 0, "the data set has no labels to learn");
  require(labels.task != Task::classes || labels.outputs > 1, "all labels are of one class");
  check_metric(labels, metric_);
  outputs_ = labels.task == Task::classes && labels.outputs == 2 ? 1 : labels.outputs;
}

Var Objective::loss_on(Tape& tape, const Var& logits, std::span<const int32_t> classes,
                       ConstMatrixView values, std::span<const NodeId> rows,
                       std::span<const float> weights) const {
  if (labels_.task == Task::regression)
    return mean_squared_error(tape, logits, values, rows, weights);
  if (labels_.task == Task::binary_labels)
    return binary_cross_entropy(tape, logits, values, rows, weights);
  if (outputs_ == 1) return binary_cross_entropy(tape, logits, classes, rows, weights);
  return softmax_cross_entropy(tape, logits, classes, rows, weights);
}

Var Objective::loss(Tape& tape, const Var& logits, std::span<const NodeId> nodes,
                    std::span<const NodeId> rows, std::span<const float> weights) {
  if (nodes.empty())
    return loss_on(tape, logits, labels_.classes.span(), targets(learned_), rows, weights);
  if (labels_.task == Task::classes) {
    batch_classes_.resize(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) batch_classes_[i] = labels_.classes[nodes[i]];
  } else {
    batch_values_ = Matrix(nodes.size(), labels_.outputs, MemoryTag::activations);
    for (size_t i = 0; i < nodes.size(); ++i)
      copy(batch_values_.view().block(i, 1), targets(learned_).block(nodes[i], 1));
  }
  return loss_on(tape, logits, batch_classes_, batch_values_.view(), rows, weights);
}

double Objective::score(ConstMatrixView outputs, std::span<const NodeId> nodes) const {
  Matrix unscaled;
  ConstMatrixView logits = outputs;
  if (!scaling_.scale.empty()) {
    unscaled = Matrix(outputs.rows, outputs.cols, MemoryTag::activations);
    copy(unscaled, outputs);
    unscale(unscaled, scaling_);
    logits = unscaled;
  }
  if (metric_ == Metric::r2) return r2(logits, targets(labels_), nodes);
  if (metric_ == Metric::accuracy) return accuracy(logits, labels_.classes.span(), nodes);
  if (labels_.task == Task::binary_labels) return mean_roc_auc(logits, targets(labels_), nodes);
  return roc_auc(logits, labels_.classes.span(), nodes);
}

}  // namespace spex
