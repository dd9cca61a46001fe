#include <spex/core/error.h>
#include <spex/train/metrics.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace spex {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

// A score as an integer of the same order, and the label in the lowest bit.
uint64_t packed(float score, bool positive) {
  auto bits = std::bit_cast<uint32_t>(score + 0.0F);  // -0 becomes 0: the two are a tie
  bits = bits >> 31 ? ~bits : bits | 0x80000000U;
  return uint64_t{bits} << 1 | (positive ? 1 : 0);
}

// Sorts by the 32 bits of the score: three passes of 11 bits, each stable.
void radix_sort(std::vector<uint64_t>& keys) {
  constexpr int kBits = 11;
  std::vector<uint64_t> other(keys.size());
  for (int shift = 1; shift < 33; shift += kBits) {
    std::array<size_t, (1 << kBits) + 1> starts = {};
    auto digit = [&](uint64_t key) { return (key >> shift) & ((1U << kBits) - 1); };
    for (uint64_t key : keys) ++starts[digit(key) + 1];
    for (size_t d = 1; d < starts.size(); ++d) starts[d] += starts[d - 1];
    for (uint64_t key : keys) other[starts[digit(key)]++] = key;
    keys.swap(other);
  }
}

// Walking up the scores, each positive wins against the negatives below and half of those level.
double area(std::vector<uint64_t>& keys) {
  radix_sort(keys);
  double wins = 0, negatives = 0, positives = 0;
  for (size_t i = 0; i < keys.size();) {
    size_t level[2] = {0, 0};
    uint64_t score = keys[i] >> 1;
    for (; i < keys.size() && keys[i] >> 1 == score; ++i) ++level[keys[i] & 1];
    auto level_negatives = static_cast<double>(level[0]);
    auto level_positives = static_cast<double>(level[1]);
    wins += level_positives * (negatives + 0.5 * level_negatives);
    negatives += level_negatives;
    positives += level_positives;
  }
  return positives > 0 && negatives > 0 ? wins / (positives * negatives) : kUndefined;
}

void check_row(NodeId row, size_t rows, const char* what) {
  require(row < rows, "{}: row {} of {}", what, row, rows);
}

// The area of one column, over the rows whose target is present.
double column_area(ConstMatrixView logits, ConstMatrixView targets, std::span<const NodeId> rows,
                   size_t column) {
  std::vector<uint64_t> keys;
  keys.reserve(rows.size());
  for (NodeId row : rows) {
    float target = targets(row, column), score = logits(row, column);
    if (std::isnan(target)) continue;
    if (std::isnan(score)) return kUndefined;
    keys.push_back(packed(score, target > 0.5F));
  }
  return area(keys);
}

double column_r2(ConstMatrixView prediction, ConstMatrixView targets, std::span<const NodeId> rows,
                 size_t column) {
  double count = 0, mean = 0, error = 0, spread = 0;
  for (NodeId row : rows)
    if (!std::isnan(targets(row, column))) mean += targets(row, column), ++count;
  mean /= count;
  for (NodeId row : rows) {
    double target = targets(row, column);
    if (std::isnan(target)) continue;
    error += std::pow(prediction(row, column) - target, 2);
    spread += std::pow(target - mean, 2);
  }
  return spread > 0 ? 1.0 - error / spread : kUndefined;
}

// The mean of per_column(c) over the columns where it is defined.
template <class PerColumn>
double mean_over_columns(size_t cols, PerColumn&& per_column) {
  double sum = 0, count = 0;
  for (size_t c = 0; c < cols; ++c) {
    double value = per_column(c);
    if (!std::isnan(value)) sum += value, ++count;
  }
  return count > 0 ? sum / count : kUndefined;
}

void check_targets(ConstMatrixView values, ConstMatrixView targets, std::span<const NodeId> rows,
                   const char* what) {
  require(values.rows == targets.rows && values.cols == targets.cols,
          "{}: targets of {} x {} for {} x {}", what, targets.rows, targets.cols, values.rows,
          values.cols);
  for (NodeId row : rows) check_row(row, values.rows, what);
}

void check_classes(ConstMatrixView logits, std::span<const int32_t> classes,
                   std::span<const NodeId> rows, const char* what) {
  require(classes.size() == logits.rows, "{}: {} classes for {} rows", what, classes.size(),
          logits.rows);
  for (NodeId row : rows) check_row(row, logits.rows, what);
}

// The class of the largest logit. One column: class 1 if positive.
int32_t predicted_class(ConstMatrixView logits, NodeId row) {
  const float* z = logits.row(row);
  if (logits.cols == 1) return z[0] > 0.0F ? 1 : 0;
  return static_cast<int32_t>(std::max_element(z, z + logits.cols) - z);
}

// That the model gives to it.
double predicted_probability(ConstMatrixView logits, NodeId row) {
  const float* z = logits.row(row);
  if (logits.cols == 1) return 1.0 / (1.0 + std::exp(-std::abs(double{z[0]})));
  double largest = *std::max_element(z, z + logits.cols), sum = 0;
  for (size_t c = 0; c < logits.cols; ++c) sum += std::exp(z[c] - largest);
  return 1.0 / sum;
}

}  // namespace

double accuracy(ConstMatrixView logits, std::span<const int32_t> classes,
                std::span<const NodeId> rows) {
  check_classes(logits, classes, rows, "accuracy");
  size_t right = 0;
  for (NodeId row : rows) right += predicted_class(logits, row) == classes[row] ? 1 : 0;
  return rows.empty() ? kUndefined : static_cast<double>(right) / static_cast<double>(rows.size());
}

double roc_auc(std::span<const float> scores, std::span<const uint8_t> positives) {
  require(scores.size() == positives.size(), "roc_auc: {} labels for {} scores", positives.size(),
          scores.size());
  std::vector<uint64_t> keys(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) return kUndefined;
    keys[i] = packed(scores[i], positives[i] != 0);
  }
  return area(keys);
}

double roc_auc(ConstMatrixView logits, std::span<const int32_t> classes,
               std::span<const NodeId> rows) {
  require(logits.cols == 1 && classes.size() == logits.rows,
          "roc_auc: logits of {} x {} for {} classes, expected one logit per node", logits.rows,
          logits.cols, classes.size());
  std::vector<float> scores;
  std::vector<uint8_t> positives;
  for (NodeId row : rows) {
    check_row(row, logits.rows, "roc_auc");
    scores.push_back(logits(row, 0));
    positives.push_back(classes[row] == 1);
  }
  return roc_auc(scores, positives);
}

double mean_roc_auc(ConstMatrixView logits, ConstMatrixView targets, std::span<const NodeId> rows) {
  check_targets(logits, targets, rows, "mean_roc_auc");
  return mean_over_columns(logits.cols,
                           [&](size_t c) { return column_area(logits, targets, rows, c); });
}

double macro_f1(ConstMatrixView logits, std::span<const int32_t> classes,
                std::span<const NodeId> rows) {
  check_classes(logits, classes, rows, "macro_f1");
  size_t count = std::max<size_t>(2, logits.cols);
  std::vector<double> right(count), predicted(count), present(count);
  for (NodeId row : rows) {
    auto guess = static_cast<size_t>(predicted_class(logits, row));
    auto truth = static_cast<size_t>(classes[row]);
    ++predicted[guess];
    ++present[truth];
    if (guess == truth) ++right[truth];
  }
  double sum = 0, occurring = 0;
  for (size_t c = 0; c < count; ++c) {
    if (present[c] == 0) continue;
    sum += 2 * right[c] / (predicted[c] + present[c]);
    ++occurring;
  }
  return occurring > 0 ? sum / occurring : kUndefined;
}

double average_precision(std::span<const float> scores, std::span<const uint8_t> positives) {
  require(scores.size() == positives.size(), "average_precision: {} labels for {} scores",
          positives.size(), scores.size());
  std::vector<uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0U);
  for (float score : scores)
    if (std::isnan(score)) return kUndefined;
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return scores[a] > scores[b]; });
  double found = 0, sum = 0;
  for (size_t i = 0; i < order.size();) {
    double here = 0;
    float score = scores[order[i]];
    for (; i < order.size() && scores[order[i]] == score; ++i) here += positives[order[i]] ? 1 : 0;
    found += here;
    sum += here * found / static_cast<double>(i);
  }
  return found > 0 ? sum / found : kUndefined;
}

double average_precision(ConstMatrixView logits, std::span<const int32_t> classes,
                         std::span<const NodeId> rows) {
  check_classes(logits, classes, rows, "average_precision");
  std::vector<float> scores;
  std::vector<uint8_t> positives;
  for (NodeId row : rows) {
    scores.push_back(logits(row, 0));
    positives.push_back(classes[row] == 1);
  }
  return average_precision(scores, positives);
}

double mean_average_precision(ConstMatrixView logits, ConstMatrixView targets,
                              std::span<const NodeId> rows) {
  check_targets(logits, targets, rows, "mean_average_precision");
  return mean_over_columns(logits.cols, [&](size_t c) {
    std::vector<float> scores;
    std::vector<uint8_t> positives;
    for (NodeId row : rows) {
      if (std::isnan(targets(row, c))) continue;
      scores.push_back(logits(row, c));
      positives.push_back(targets(row, c) > 0.5F);
    }
    return average_precision(scores, positives);
  });
}

double calibration_error(ConstMatrixView logits, std::span<const int32_t> classes,
                         std::span<const NodeId> rows) {
  check_classes(logits, classes, rows, "calibration_error");
  constexpr size_t kBins = 15;
  struct Bin {
    double probability = 0, right = 0;
  } bins[kBins];
  for (NodeId row : rows) {
    double probability = predicted_probability(logits, row);
    if (std::isnan(probability)) return kUndefined;
    auto at = std::min(kBins - 1, static_cast<size_t>(probability * kBins));
    bins[at].probability += probability;
    bins[at].right += predicted_class(logits, row) == classes[row] ? 1 : 0;
  }
  double sum = 0;
  for (const Bin& bin : bins) sum += std::abs(bin.right - bin.probability);
  return rows.empty() ? kUndefined : sum / static_cast<double>(rows.size());
}

double mean_absolute_error(ConstMatrixView prediction, ConstMatrixView targets,
                           std::span<const NodeId> rows) {
  check_targets(prediction, targets, rows, "mean_absolute_error");
  double sum = 0, count = 0;
  for (NodeId row : rows)
    for (size_t c = 0; c < targets.cols; ++c)
      if (!std::isnan(targets(row, c)))
        sum += std::abs(double{prediction(row, c)} - targets(row, c)), ++count;
  return count > 0 ? sum / count : kUndefined;
}

double r2(ConstMatrixView prediction, ConstMatrixView targets, std::span<const NodeId> rows) {
  check_targets(prediction, targets, rows, "r2");
  return mean_over_columns(prediction.cols,
                           [&](size_t c) { return column_r2(prediction, targets, rows, c); });
}

}  // namespace spex
