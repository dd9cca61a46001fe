// The theorem that narrow attention approximates wide attention: queries and keys of a trained wide
// network projected by random matrices, and what that does to its scores.
#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/model/spexphormer.h>
#include <spex/study/statistics.h>

#include <algorithm>
#include <cmath>

#include "study/figures.h"
#include "study/studies.h"
#include "study/training.h"
#include "study/wide_attention.h"

namespace spex {
namespace {

const std::vector<size_t> kWidths = {4, 8, 16, 32, 64, 128, 256};
constexpr double kProjectionSlope = -0.5, kProjectionSlack = 0.1;
constexpr double kConstant = 3.0;  // of the bound: sqrt(2 ln N^2) standard deviations, of sqrt(2)
constexpr size_t kLogitBlock = 65536;

struct Errors {
  double score = 0, logit = 0;  // sums over edges
  double score_most = 0, logit_most = 0;
  Errors& operator+=(const Errors& other) {
    score += other.score;
    logit += other.logit;
    score_most = std::max(score_most, other.score_most);
    logit_most = std::max(logit_most, other.logit_most);
    return *this;
  }
};

// Scores by their relative error; logits by their error over the lengths of query and key.
Errors compare(const EdgeLogits& exact, const std::vector<float>& exact_scores,
               const EdgeLogits& narrow, const std::vector<float>& narrow_scores) {
  return parallel_sum(exact.logits.size(), kLogitBlock, Errors(), [&](size_t begin, size_t end) {
    Errors errors;
    for (size_t e = begin; e < end; ++e) {
      double score = std::abs(narrow_scores[e] - exact_scores[e]) / exact_scores[e];
      double length = std::max(exact.lengths[e], 1e-20F);
      double logit = std::abs(narrow.logits[e] - exact.logits[e]) / length;
      errors += {score, logit, score, logit};
    }
    return errors;
  });
}

Errors errors_at(const std::vector<AttentionParts>& layers, const AttentionGraph& graph,
                 size_t width, size_t matrices) {
  Errors errors;
  for (const AttentionParts& parts : layers) {
    EdgeLogits exact = edge_logits(parts, graph, 0, 0);
    std::vector<float> scores = exact.logits;
    to_scores(scores, graph);
    for (size_t m = 0; m < matrices; ++m) {
      EdgeLogits narrow = edge_logits(parts, graph, width, m);
      std::vector<float> narrow_scores = narrow.logits;
      to_scores(narrow_scores, graph);
      errors += compare(exact, scores, narrow, narrow_scores);
    }
  }
  return errors;
}

}  // namespace

StudyRecord study_projection(const StudyRequest& request) {
  Config config = request.config;
  require(request.data.edge_feature_count == 0,
          "the theorem is about attention without edge features, and {} has some",
          request.data.name);
  auto& options = config.options<EstimatorOptions>("estimator");
  options.width = request.widths.back();
  tell_scorers(config);
  const Phase& phase = config.phases.front();
  Problem problem = make_problem(request.data, config);
  TrainedNetwork network = train_network(phase, problem, config, config.seed, request.hooks);
  std::vector<AttentionParts> layers =
      attention_parts(*network.model, phase, problem, network.temperature);
  StudyRecord record;
  record.table.names = {"error"};
  record.table.values = {"d", "mean", "largest"};
  std::vector<double> ds, logits;
  bool bounded = true;
  std::string numbers;
  double log_nodes = std::log(static_cast<double>(problem.data.nodes()));
  for (size_t width : kWidths) {
    Errors e = errors_at(layers, problem.attention, width, request.seeds);
    auto d = static_cast<double>(width);
    auto count = static_cast<double>(problem.attention.edges() * layers.size() * request.seeds);
    double bound = std::sqrt(log_nodes / d);
    record.table.add({"scores, relative"}, {d, e.score / count, e.score_most});
    record.table.add({"logits, over |q||k|"}, {d, e.logit / count, e.logit_most});
    record.table.add({"sqrt(ln N / d)"}, {d, bound, bound});
    bounded &= e.logit_most <= kConstant * bound;
    ds.push_back(d);
    logits.push_back(e.logit / count);
    numbers += fmt::format("{}d = {}: {:.2f} against {:.2f}", numbers.empty() ? "" : "; ", width,
                           e.logit_most, kConstant * bound);
  }
  double slope = power(ds, logits);
  record.findings = {
      {"the error of projected attention falls like 1 / sqrt(d)",
       fmt::format("the mean error of the logits, over the lengths of query and key, falls with a "
                   "power of d within {} of {}",
                   kProjectionSlack, kProjectionSlope),
       fmt::format("d to the power {:.3f}", slope),
       std::abs(slope - kProjectionSlope) <= kProjectionSlack},
      {"no edge is worse than the bound with log N",
       fmt::format("the largest such error over all edges is at most {} sqrt(ln N / d) for every d",
                   kConstant),
       numbers, bounded}};
  StudyFigure mean;
  mean.title = "Mean error by projected width";
  mean.sentence = "Over all edges, layers and random matrices; the bound's shape beside.";
  mean.kind = "lines";
  mean.x = "d";
  mean.y = "mean";
  mean.series = "error";
  mean.x_title = "projected width d";
  mean.y_title = "mean error";
  mean.log_x = mean.log_y = true;
  StudyFigure most = by_size(mean, "d", "projected width d", "largest", "largest error", "");
  record.figures = {mean, most};
  record.choices = {fmt::format(
      "The network is an estimator of width {} trained on the data (validation {:.1f}%); {} random "
      "Gaussian matrices per d; each layer is projected with its exact inputs, so errors do not "
      "add "
      "up from layer to layer as in the theorem. Logits are clamped to [-8, 8] as in the network.",
      request.widths.back(), 100 * network.validation, request.seeds)};
  return record;
}

}  // namespace spex
