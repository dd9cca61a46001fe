// Figure 6: how many nodes the representations of ten nodes need, layer by layer going back.
#include <fmt/format.h>
#include <spex/core/random.h>
#include <spex/model/spexphormer.h>
#include <spex/sample/batch.h>
#include <spex/study/statistics.h>

#include <algorithm>
#include <cmath>

#include "study/studies.h"
#include "study/training.h"

namespace spex {
namespace {

constexpr size_t kTargets = 10;
constexpr size_t kExpandedLayers = 4;
const std::vector<size_t> kSampleDegrees = {2, 5, 10};
constexpr size_t kJudged = 5;  // the degree of the findings
constexpr double kNearlyAll = 0.95, kFewer = 0.5, kInterval = 1.96;

std::vector<NodeId> draw_targets(size_t nodes, size_t draw) {
  Random random(draw, Purpose::generator, 1);
  std::vector<NodeId> targets;
  for (uint64_t i = 0; targets.size() < std::min(kTargets, nodes); ++i) {
    auto node = static_cast<NodeId>(random.below(nodes, i));
    if (std::find(targets.begin(), targets.end(), node) == targets.end()) targets.push_back(node);
  }
  return targets;
}

// Distinct nodes needed 0, 1, .. layers back, with all edges.
std::vector<double> expand_all(const AttentionGraph& graph, const std::vector<NodeId>& targets) {
  std::vector<char> seen(graph.nodes(), 0);
  std::vector<NodeId> needed = targets;
  for (NodeId node : targets) seen[node] = 1;
  std::vector<double> counts = {static_cast<double>(needed.size())};
  for (size_t begin = 0, l = 0; l < kExpandedLayers; ++l) {
    size_t end = needed.size();
    for (; begin < end; ++begin)
      for (EdgeOffset e = graph.offsets[needed[begin]]; e < graph.offsets[needed[begin] + 1]; ++e)
        if (!std::exchange(seen[graph.neighbours[e]], 1)) needed.push_back(graph.neighbours[e]);
    counts.push_back(static_cast<double>(needed.size()));
  }
  return counts;
}

// The same with k neighbours drawn in every layer.
std::vector<double> expand_sampled(BatchBuilder& builder, const std::vector<NodeId>& targets,
                                   uint32_t draw) {
  Batch batch = builder.build(targets, draw);
  std::vector<double> counts = {static_cast<double>(targets.size())};
  for (size_t l = kExpandedLayers; l-- > 0;)
    counts.push_back(static_cast<double>(batch.layers[l].sources));
  return counts;
}

// Adds the rows of one way; gives the mean number of nodes at the last layer back.
template <class Expand>
double add_rows(StudyTable& table, const std::string& way, size_t draws, size_t nodes,
                Expand expand) {
  std::vector<std::vector<double>> by_layer(kExpandedLayers + 1);
  for (size_t draw = 0; draw < draws; ++draw) {
    std::vector<double> counts = expand(draw_targets(nodes, draw), static_cast<uint32_t>(draw));
    for (size_t l = 0; l <= kExpandedLayers; ++l) by_layer[l].push_back(counts[l]);
  }
  for (size_t l = 0; l <= kExpandedLayers; ++l) {
    Moments m = moments(by_layer[l]);
    double half = kInterval * m.deviation / std::sqrt(static_cast<double>(draws));
    table.add({way}, {static_cast<double>(l), m.mean, m.mean - half, m.mean + half,
                      m.mean / static_cast<double>(nodes)});
  }
  return moments(by_layer.back()).mean;
}

}  // namespace

StudyRecord study_expansion(const StudyRequest& request) {
  Config config = request.config;
  config.options<EstimatorOptions>("estimator").layers = kExpandedLayers;
  Problem problem =
      problem_with_scores(request.data, config, request.out / "estimator-4-layers", request.hooks);
  size_t nodes = problem.data.nodes();
  StudyRecord record;
  record.table.names = {"neighbours"};
  record.table.values = {"layers back", "nodes", "low", "high", "share of all"};
  double weighted = 0, uniform = 0;
  for (Sampling sampling : {Sampling::weighted, Sampling::uniform}) {
    Sampler sampler(problem.attention, &problem.scores, sampling, config.seed);
    for (size_t degree : kSampleDegrees) {
      BatchBuilder builder(sampler, std::vector<size_t>(kExpandedLayers, degree), false);
      double reached = add_rows(record.table, fmt::format("{} {}", degree, name(sampling)),
                                request.seeds, nodes, [&](const auto& targets, uint32_t draw) {
                                  return expand_sampled(builder, targets, draw);
                                });
      if (degree == kJudged) (sampling == Sampling::weighted ? weighted : uniform) = reached;
    }
  }
  double all = add_rows(
      record.table, "all", request.seeds, nodes,
      [&](const auto& targets, uint32_t) { return expand_all(problem.attention, targets); });
  auto total = static_cast<double>(nodes);
  record.findings = {
      {"with all edges the neighbourhood soon is the whole graph",
       fmt::format("{} layers back it has at least {:.0f}% of the nodes", kExpandedLayers,
                   100 * kNearlyAll),
       fmt::format("{:.1f}%", 100 * all / total), all >= kNearlyAll * total},
      {"sampled neighbourhoods stay small",
       fmt::format(
           "{} layers back, with {} neighbours drawn by scores, they have less than half as "
           "many nodes",
           kExpandedLayers, kJudged),
       fmt::format("{:.0f} drawn by scores, {:.0f} drawn uniformly, {:.0f} with all edges",
                   weighted, uniform, all),
       weighted < kFewer * all}};
  StudyFigure figure;
  figure.title = "Nodes that ten nodes need";
  figure.sentence =
      "Distinct nodes going back through the layers; bars are 95% intervals of the mean.";
  figure.kind = "lines";
  figure.x = "layers back";
  figure.y = "nodes";
  figure.series = "neighbours";
  figure.low = "low";
  figure.high = "high";
  figure.x_title = "layers back";
  figure.y_title = "nodes";
  figure.log_y = true;
  record.figures = {figure};
  record.choices = {
      fmt::format("{} draws of {} targets; the estimator has four layers; weighted "
                  "samples are drawn anew for each.",
                  request.seeds, kTargets)};
  return record;
}

}  // namespace spex
