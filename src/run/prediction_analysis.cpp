#include <fmt/core.h>
#include <spex/run/analysis.h>
#include <spex/run/model_file.h>
#include <spex/run/predict.h>

#include <algorithm>
#include <cmath>

namespace spex {
namespace {

constexpr size_t kRocPoints = 200;
constexpr size_t kScatterPoints = 1000;
constexpr size_t kCalibrationBins = 10;
constexpr size_t kMistakes = 10;

struct Scored {
  float score;
  bool positive;
};

// The ROC curve and, if asked for, precision by recall, from the highest score downwards.
void threshold_curves(RunDetails& details, std::vector<Scored> scored, bool with_precision) {
  std::sort(scored.begin(), scored.end(),
            [](const Scored& a, const Scored& b) { return a.score > b.score; });
  double positives = static_cast<double>(
      std::count_if(scored.begin(), scored.end(), [](const Scored& s) { return s.positive; }));
  double negatives = static_cast<double>(scored.size()) - positives;
  if (positives == 0 || negatives == 0) return;
  size_t step = std::max<size_t>(1, scored.size() / kRocPoints);
  double true_count = 0, false_count = 0;
  details.roc_false_positive = {0.0};
  details.roc_true_positive = {0.0};
  for (size_t i = 0; i < scored.size(); ++i) {
    (scored[i].positive ? true_count : false_count) += 1;
    bool tied = i + 1 < scored.size() && scored[i + 1].score == scored[i].score;
    if (tied || (i % step != 0 && i + 1 < scored.size())) continue;
    details.roc_false_positive.push_back(false_count / negatives);
    details.roc_true_positive.push_back(true_count / positives);
    if (!with_precision) continue;
    details.recall.push_back(true_count / positives);
    details.precision.push_back(true_count / (true_count + false_count));
  }
}

size_t likeliest(const float* row, size_t cols) {
  if (cols == 1) return row[0] > 0 ? 1 : 0;
  return static_cast<size_t>(std::max_element(row, row + cols) - row);
}

void confusion_matrix(RunDetails& details, const Labels& labels, ConstMatrixView logits,
                      std::span<const NodeId> test) {
  details.confusion.assign(labels.outputs, std::vector<size_t>(labels.outputs, 0));
  for (size_t i = 0; i < test.size(); ++i)
    if (int32_t actual = labels.classes[test[i]]; actual >= 0)
      ++details.confusion[static_cast<size_t>(actual)][likeliest(logits.row(i), logits.cols)];
}

// Of two classes the probability of class 1 against its share; of more, that of the predicted class.
void calibration(RunDetails& details, const Labels& labels, ConstMatrixView probabilities,
                 std::span<const NodeId> test) {
  std::vector<double> predicted(kCalibrationBins), right(kCalibrationBins);
  std::vector<size_t> nodes(kCalibrationBins);
  for (size_t i = 0; i < test.size(); ++i) {
    if (labels.classes[test[i]] < 0) continue;
    const float* row = probabilities.row(i);
    size_t judged = labels.outputs == 2 ? 1 : likeliest(row, labels.outputs);
    auto bin = std::min(kCalibrationBins - 1,
                        static_cast<size_t>(row[judged] * static_cast<float>(kCalibrationBins)));
    predicted[bin] += row[judged];
    right[bin] += labels.classes[test[i]] == static_cast<int32_t>(judged);
    ++nodes[bin];
  }
  for (size_t b = 0; b < kCalibrationBins; ++b) {
    if (nodes[b] == 0) continue;
    auto count = static_cast<double>(nodes[b]);
    details.calibration_predicted.push_back(predicted[b] / count);
    details.calibration_right.push_back(right[b] / count);
    details.calibration_nodes.push_back(nodes[b]);
  }
}

// How wrong a row of predictions is; 0: right, or nobody knows.
double mistake_size(ConstMatrixView row, const Labels& labels, NodeId node) {
  if (labels.task == Task::regression) {
    double distance = std::abs(double{row(0, 0)} - double{labels.values[node]});
    return std::isnan(distance) ? 0.0 : distance;
  }
  const float* best = std::max_element(row.data, row.data + row.cols);
  bool wrong = labels.classes[node] >= 0 && best - row.data != labels.classes[node];
  return wrong ? *best : 0.0;
}

Mistake describe_mistake(ConstMatrixView row, const Labels& labels, const Predictions& p,
                         NodeId node, double size) {
  if (labels.task == Task::regression)
    return {p.keys.of(node), fmt::format("{}", labels.values[node]), fmt::format("{}", row(0, 0)),
            size};
  auto best = static_cast<size_t>(std::max_element(row.data, row.data + row.cols) - row.data);
  return {p.keys.of(node), p.meaning.class_names[static_cast<size_t>(labels.classes[node])],
          p.meaning.class_names[best], size};
}

// The first target.
void quantities(RunDetails& details, const Dataset& data, ConstMatrixView predicted,
                std::span<const NodeId> test) {
  auto actual = [&](size_t i) { return double{data.labels.values[test[i] * data.labels.outputs]}; };
  size_t step = std::max<size_t>(1, test.size() / kScatterPoints);
  for (size_t i = 0; i < test.size(); i += step) {
    if (std::isnan(actual(i))) continue;
    details.true_values.push_back(actual(i));
    details.predicted_values.push_back(predicted(i, 0));
  }
}

}  // namespace

void analyse_predictions(RunDetails& details, const Dataset& data, ConstMatrixView logits,
                         std::span<const NodeId> test) {
  const Labels& labels = data.labels;
  Meaning meaning = meaning_of(data);
  details.class_names = meaning.class_names;
  if (labels.task == Task::regression) {
    quantities(details, data, logits, test);
    return;
  }
  std::vector<Scored> scored;
  bool two = labels.task == Task::classes && labels.outputs == 2;
  for (size_t i = 0; i < test.size() && (two || labels.task != Task::classes); ++i)
    for (size_t c = 0; c < logits.cols; ++c) {
      if (two) {
        if (labels.classes[test[i]] >= 0)
          scored.push_back({logits(i, c), labels.classes[test[i]] == 1});
      } else if (float label = labels.values[test[i] * labels.outputs + c]; !std::isnan(label)) {
        scored.push_back({logits(i, c), label > 0.5F});
      }
    }
  threshold_curves(details, std::move(scored), two);
  if (labels.task != Task::classes) return;
  Matrix probabilities = to_probabilities(logits, meaning);
  confusion_matrix(details, labels, logits, test);
  calibration(details, labels, probabilities, test);
}

double constant_score(const Labels& labels, Metric metric, const Split& split, size_t nodes) {
  Objective objective(labels, metric);
  std::vector<double> answer(objective.outputs(), 0.0), known(objective.outputs(), 0.0);
  for (NodeId node : split.train)
    for (size_t c = 0; c < answer.size(); ++c) {
      bool classes = labels.task == Task::classes;
      double value = classes
                         ? labels.classes[node] == static_cast<int32_t>(answer.size() == 1 ? 1 : c)
                         : double{labels.values[node * labels.outputs + c]};
      if (std::isnan(value)) continue;
      answer[c] += value;
      known[c] += 1;
    }
  Matrix logits(nodes, answer.size(), MemoryTag::activations);
  for (size_t c = 0; c < answer.size(); ++c) {
    double mean = answer[c] / std::max(1.0, known[c]);
    // One logit stands for two classes: above 0 where the second is the commoner one.
    double logit = labels.task == Task::classes && answer.size() == 1 ? mean - 0.5 : mean;
    for (size_t i = 0; i < nodes; ++i) logits(i, c) = static_cast<float>(logit);
  }
  return objective.score(logits, split.test.span());
}

std::vector<NodeId> analyse_mistakes(RunDetails& details, const Dataset& data,
                                     const Predictions& predictions, std::span<const NodeId> test) {
  const Labels& labels = data.labels;
  if (labels.task == Task::binary_labels || (labels.task == Task::regression && labels.outputs > 1))
    return {};
  std::vector<std::pair<double, size_t>> sizes;  // and the row; the first of equals
  for (size_t i = 0; i < predictions.nodes.size(); ++i) {
    NodeId node = predictions.nodes[i];
    if (!std::binary_search(test.begin(), test.end(), node)) continue;
    double size = mistake_size(predictions.values.view().block(i, 1), labels, node);
    if (size > 0) sizes.emplace_back(-size, i);
  }
  size_t count = std::min(kMistakes, sizes.size());
  std::partial_sort(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(count), sizes.end());
  std::vector<NodeId> nodes;
  for (size_t k = 0; k < count; ++k) {
    size_t row = sizes[k].second;
    nodes.push_back(predictions.nodes[row]);
    details.mistakes.push_back(describe_mistake(predictions.values.view().block(row, 1), labels,
                                                predictions, nodes.back(), -sizes[k].first));
  }
  return nodes;
}

}  // namespace spex
