#include <spex/core/error.h>
#include <spex/data/splits.h>
#include <spex/ops/elementwise.h>
#include <spex/ops/losses.h>
#include <spex/train/metrics.h>
#include <spex/train/objective.h>

#include <algorithm>
#include <cmath>

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

bool fits(const Labels& labels, Metric metric) {
  bool classes = labels.task == Task::classes, regression = labels.task == Task::regression;
  switch (metric) {
    case Metric::accuracy:
    case Metric::macro_f1:
      return classes;
    case Metric::roc_auc:
    case Metric::average_precision:
      return labels.task == Task::binary_labels || (classes && labels.outputs == 2);
    case Metric::r2:
    case Metric::mae:
      return regression;
    case Metric::automatic:
      break;
  }
  return false;
}

void check_metric(const Labels& labels, Metric metric) {
  require(fits(labels, metric),
          "the metric {} does not fit labels with {} {}; leave split.metric at auto", name(metric),
          labels.outputs, labels.task == Task::classes ? "classes" : "values per node");
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

void Objective::balance(std::span<const NodeId> train) {
  if (labels_.task != Task::classes) return;
  std::vector<double> counts = class_counts(labels_, train);
  auto present = static_cast<double>(
      std::count_if(counts.begin(), counts.end(), [](double c) { return c > 0; }));
  class_weights_.clear();
  for (double count : counts)
    class_weights_.push_back(
        count > 0 ? static_cast<float>(static_cast<double>(train.size()) / (present * count)) : 1);
}

// One is added to every count of validation nodes: a class that none of a few nodes has may exist.
void Objective::adapt(std::span<const NodeId> train, std::span<const NodeId> validation) {
  if (labels_.task != Task::classes) return;
  std::vector<double> here = class_counts(labels_, train);
  std::vector<double> there = class_counts(labels_, validation);
  double scale =
      static_cast<double>(train.size()) / static_cast<double>(validation.size() + labels_.outputs);
  std::vector<float> shift;
  for (size_t c = 0; c < here.size(); ++c)
    shift.push_back(here[c] > 0 ? static_cast<float>(-std::log(scale * (there[c] + 1) / here[c]))
                                : 0.0F);
  if (outputs_ == 1) shift = {shift[1] - shift[0]};
  shift_ = Matrix(1, outputs_, MemoryTag::parameters);
  std::copy(shift.begin(), shift.end(), shift_.data());
}

// The batch's own weights, times those of the classes.
std::span<const float> Objective::weights_of(std::span<const NodeId> nodes,
                                             std::span<const float> weights, size_t rows) {
  if (class_weights_.empty()) return weights;
  batch_weights_.resize(rows);
  for (size_t i = 0; i < rows; ++i) {
    int32_t label = labels_.classes[nodes.empty() ? i : nodes[i]];
    float weight = label < 0 ? 1.0F : class_weights_[static_cast<size_t>(label)];
    batch_weights_[i] = weights.empty() ? weight : weight * weights[i];
  }
  return batch_weights_;
}

Var Objective::loss(Tape& tape, const Var& outputs, std::span<const NodeId> nodes,
                    std::span<const NodeId> rows, std::span<const float> row_weights) {
  Var logits = outputs;
  if (!shift_.empty()) logits = add_row(tape, outputs, tape.constant(std::as_const(shift_).view()));
  std::span<const float> weights = weights_of(nodes, row_weights, logits.rows());
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

double Objective::score(Metric metric, ConstMatrixView outputs,
                        std::span<const NodeId> nodes) const {
  Matrix unscaled;
  ConstMatrixView logits = outputs;
  if (!scaling_.scale.empty()) {
    unscaled = Matrix(outputs.rows, outputs.cols, MemoryTag::activations);
    copy(unscaled, outputs);
    unscale(unscaled, scaling_);
    logits = unscaled;
  }
  bool columns = labels_.task == Task::binary_labels;
  std::span<const int32_t> classes = labels_.classes.span();
  switch (metric) {
    case Metric::r2:
      return r2(logits, targets(labels_), nodes);
    case Metric::mae:
      return -mean_absolute_error(logits, targets(labels_), nodes);
    case Metric::macro_f1:
      return macro_f1(logits, classes, nodes);
    case Metric::average_precision:
      return columns ? mean_average_precision(logits, targets(labels_), nodes)
                     : average_precision(logits, classes, nodes);
    case Metric::roc_auc:
      return columns ? mean_roc_auc(logits, targets(labels_), nodes)
                     : roc_auc(logits, classes, nodes);
    default:
      return accuracy(logits, classes, nodes);
  }
}

double Objective::score(ConstMatrixView logits, std::span<const NodeId> nodes) const {
  return score(metric_, logits, nodes);
}

std::vector<Objective::Named> Objective::all_scores(ConstMatrixView logits,
                                                    std::span<const NodeId> nodes) const {
  std::vector<Named> scores;
  for (Metric metric : {Metric::accuracy, Metric::macro_f1, Metric::roc_auc,
                        Metric::average_precision, Metric::r2, Metric::mae})
    if (fits(labels_, metric))
      scores.push_back({std::string(name(metric)), score(metric, logits, nodes)});
  if (labels_.task == Task::classes)
    scores.push_back(
        {"calibration_error", calibration_error(logits, labels_.classes.span(), nodes)});
  return scores;
}

}  // namespace spex
