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
constexpr float kFarAbove = 4;  // times the least score: a tie there is no flat row's
constexpr size_t kBlockRows = 4096;

// Sums over nodes; parts add up in block order.
struct AttentionSums {
  std::vector<double> entropy_bins = std::vector<double>(kEntropyBins, 0.0);
  std::vector<double> by_type = std::vector<double>(kMaxEdgeTypes, 0.0);
  std::vector<double> top = std::vector<double>(kTop, 0.0);
  double entropy = 0;
  double tied = 0;
  double nodes = 0;

  AttentionSums& operator+=(const AttentionSums& other) {
    auto add = [](std::vector<double>& to, const std::vector<double>& from) {
      std::transform(to.begin(), to.end(), from.begin(), to.begin(), std::plus<>());
    };
    add(entropy_bins, other.entropy_bins);
    add(by_type, other.by_type);
    add(top, other.top);
    entropy += other.entropy;
    tied += other.tied;
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
  auto [least, largest] = std::ranges::minmax(scores);
  if (largest >= kFarAbove * least && std::ranges::count(scores, largest) > 1) ++sums.tied;
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
    layer.tied = sums.tied / nodes;
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

NodeAttention look_of(const Scores& scores, const AttentionGraph& graph, const NodeKeys& keys,
                      NodeId node, size_t layers) {
  NodeAttention look{keys.of(node), {}};
  size_t real = graph.nodes() - graph.virtual_nodes;
  for (size_t l = 0; l < layers; ++l) {
    std::vector<SeenNeighbour> seen;
    for (size_t t = 0; t < graph.types; ++t)
      for (EdgeOffset e = graph.segment_begin(t, node); e < graph.segment_end(t, node); ++e) {
        float score = 0;
        to_float({&score, 1}, scores.layer(l).span().subspan(e, 1));
        NodeId other = graph.neighbours[e];
        seen.push_back({other < real ? keys.of(other) : "virtual", t, score});
      }
    std::stable_sort(seen.begin(), seen.end(),
                     [](const auto& a, const auto& b) { return a.score > b.score; });
    if (seen.size() > kTop) seen.resize(kTop);
    look.layers.push_back(std::move(seen));
  }
  return look;
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

}  // namespace spex
