#include <fmt/format.h>
#include <spex/core/threads.h>
#include <spex/run/analysis.h>
#include <spex/sample/batch.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace spex {
namespace {

constexpr size_t kEntropyBins = 20;
constexpr size_t kTop = 10;
constexpr size_t kBlockRows = 4096;
constexpr size_t kRocPoints = 200;
constexpr size_t kMistakes = 10;

// Sums over nodes; parts add up in block order.
struct AttentionSums {
  std::vector<double> entropy_bins = std::vector<double>(kEntropyBins, 0.0);
  std::vector<double> by_type = std::vector<double>(kMaxEdgeTypes, 0.0);
  std::vector<double> top = std::vector<double>(kTop, 0.0);
  double entropy = 0;
  double nodes = 0;

  AttentionSums& operator+=(const AttentionSums& other) {
    auto add = [](std::vector<double>& to, const std::vector<double>& from) {
      std::transform(to.begin(), to.end(), from.begin(), to.begin(), std::plus<>());
    };
    add(entropy_bins, other.entropy_bins);
    add(by_type, other.by_type);
    add(top, other.top);
    entropy += other.entropy;
    nodes += other.nodes;
    return *this;
  }
};

void add_node(AttentionSums& sums, const AttentionGraph& graph, size_t node,
              std::vector<float>& scores) {
  EdgeOffset begin = graph.offsets[node];
  for (size_t t = 0; t < graph.types; ++t)
    for (EdgeOffset e = graph.segment_begin(t, node); e < graph.segment_end(t, node); ++e)
      sums.by_type[t] += scores[e - begin];
  double entropy = 0;
  for (float p : scores)
    if (p > 0) entropy -= p * std::log(p);
  double relative =
      scores.size() > 1 ? entropy / std::log(static_cast<double>(scores.size())) : 0.0;
  auto bin = static_cast<size_t>(std::clamp(relative, 0.0, 1.0) * kEntropyBins);
  ++sums.entropy_bins[std::min(bin, kEntropyBins - 1)];
  sums.entropy += entropy;
  ++sums.nodes;
  size_t top = std::min(kTop, scores.size());
  std::partial_sort(scores.begin(), scores.begin() + static_cast<ptrdiff_t>(top), scores.end(),
                    std::greater<>());
  double sum = 0;
  for (size_t k = 0; k < kTop; ++k) sums.top[k] += sum += k < top ? scores[k] : 0.0F;
}

AttentionSums sum_attention(const SharedArray<Half>& scores, const AttentionGraph& graph) {
  return parallel_sum(graph.nodes(), kBlockRows, AttentionSums(), [&](size_t begin, size_t end) {
    AttentionSums sums;
    std::vector<float> row;
    for (size_t node = begin; node < end; ++node) {
      row.resize(graph.offsets[node + 1] - graph.offsets[node]);
      if (row.empty()) continue;
      to_float(row, scores.span().subspan(graph.offsets[node], row.size()));
      add_node(sums, graph, node, row);
    }
    return sums;
  });
}

struct Scored {
  float score;
  bool positive;
};

void roc_curve(RunDetails& details, std::vector<Scored> scored) {
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

}  // namespace

std::vector<LayerAttention> analyse_attention(const Scores& scores, const AttentionGraph& graph,
                                              std::span<const size_t> degrees) {
  std::vector<double> shares = kept_share(graph, degrees);
  std::vector<LayerAttention> layers;
  for (size_t l = 0; l < degrees.size(); ++l) {
    AttentionSums sums = sum_attention(scores.layer(l), graph);
    LayerAttention layer;
    double nodes = std::max(1.0, sums.nodes);
    layer.entropy_histogram = sums.entropy_bins;
    layer.mean_entropy = sums.entropy / nodes;
    double total = std::accumulate(sums.by_type.begin(), sums.by_type.end(), 0.0);
    for (size_t t = 0; t < graph.types; ++t)
      layer.share_by_type.push_back(total > 0 ? sums.by_type[t] / total : 0.0);
    for (double sum : sums.top) layer.top_sums.push_back(sum / nodes);
    layer.edges_kept =
        static_cast<size_t>(std::llround(shares[l] * static_cast<double>(graph.edges())));
    layers.push_back(std::move(layer));
  }
  return layers;
}

void analyse_degrees(RunDetails& details, const CsrGraph& graph) {
  details.degree_bounds = {0, 1};
  size_t largest = 0;  // parallel edges can make it more than the number of nodes
  for (size_t i = 0; i < graph.nodes(); ++i) largest = std::max(largest, graph.degree(i));
  while (details.degree_bounds.back() <= largest)
    details.degree_bounds.push_back(details.degree_bounds.back() * 2);
  details.degree_histogram.assign(details.degree_bounds.size() - 1, 0);
  for (size_t i = 0; i < graph.nodes(); ++i) {
    auto above = std::upper_bound(details.degree_bounds.begin(), details.degree_bounds.end(),
                                  graph.degree(i));
    ++details.degree_histogram[static_cast<size_t>(above - details.degree_bounds.begin()) - 1];
  }
  while (details.degree_histogram.size() > 1 && details.degree_histogram.back() == 0) {
    details.degree_histogram.pop_back();
    details.degree_bounds.pop_back();
  }
}

void analyse_predictions(RunDetails& details, const Dataset& data, ConstMatrixView logits,
                         std::span<const NodeId> test) {
  details.class_names = data.class_names;
  const Labels& labels = data.labels;
  if (labels.task == Task::classes && labels.outputs > 2) {
    details.confusion.assign(labels.outputs, std::vector<size_t>(labels.outputs, 0));
    for (size_t i = 0; i < test.size(); ++i) {
      const float* row = logits.row(i);
      auto predicted = static_cast<size_t>(std::max_element(row, row + logits.cols) - row);
      int32_t actual = labels.classes[test[i]];
      if (actual >= 0) ++details.confusion[static_cast<size_t>(actual)][predicted];
    }
    return;
  }
  std::vector<Scored> scored;
  for (size_t i = 0; i < test.size() && labels.task != Task::regression; ++i)
    for (size_t c = 0; c < logits.cols; ++c) {
      if (labels.task == Task::classes) {
        scored.push_back({logits(i, c), labels.classes[test[i]] == 1});
      } else if (float label = labels.values[test[i] * labels.outputs + c]; !std::isnan(label)) {
        scored.push_back({logits(i, c), label > 0.5F});
      }
    }
  roc_curve(details, std::move(scored));
}

void analyse_mistakes(RunDetails& details, const Dataset& data, const Predictions& predictions,
                      std::span<const NodeId> test) {
  const Labels& labels = data.labels;
  if (labels.task == Task::binary_labels || (labels.task == Task::regression && labels.outputs > 1))
    return;
  std::vector<std::pair<double, size_t>> sizes;  // and the row; the first of equals
  for (size_t i = 0; i < predictions.nodes.size(); ++i) {
    NodeId node = predictions.nodes[i];
    if (!std::binary_search(test.begin(), test.end(), node)) continue;
    double size = mistake_size(predictions.values.view().block(i, 1), labels, node);
    if (size > 0) sizes.emplace_back(-size, i);
  }
  size_t count = std::min(kMistakes, sizes.size());
  std::partial_sort(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(count), sizes.end());
  for (size_t k = 0; k < count; ++k)
    details.mistakes.push_back(
        describe_mistake(predictions.values.view().block(sizes[k].second, 1), labels, predictions,
                         predictions.nodes[sizes[k].second], -sizes[k].first));
}

}  // namespace spex
