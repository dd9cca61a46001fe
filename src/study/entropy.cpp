// The entropy of attention: how evenly a node looks at its neighbours.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/attention_samples.h"
#include "study/studies.h"

namespace spex {
namespace {

struct LayerEntropy {
  Moments nats, relative;  // the mean over nodes; the spread is over seeds
};

// The mean over nodes of one network in one layer: in nats, and divided by ln(degree).
std::pair<double, double> network_entropy(const ScoreSet& set, const Scores& scores, size_t layer) {
  std::vector<double> sums = sum_over_rows(
      set, 2, [] { return std::vector<float>(); },
      [&](std::vector<double>& sums, NodeId node, std::vector<float>& row) {
        load_row(row, set, scores, layer, node);
        double nats = entropy(row);
        sums[0] += nats;
        sums[1] += nats / std::log(static_cast<double>(row.size()));
      });
  auto rows = static_cast<double>(set.rows.size());
  return {sums[0] / rows, sums[1] / rows};
}

LayerEntropy layer_entropy(const ScoreSet& set, const WidthScores& width, size_t layer) {
  std::vector<double> nats, relative;
  for (const Scores& scores : width.seeds) {
    auto [n, r] = network_entropy(set, scores, layer);
    nats.push_back(n);
    relative.push_back(r);
  }
  return {moments(nats), moments(relative)};
}

void study_entropy_of(StudyRecord& record, const ScoreSet& set) {
  std::vector<double> by_width;  // the mean over layers
  bool first_highest = true;
  std::string numbers;
  for (const WidthScores& width : set.widths) {
    double first = 0, later = 0, sum = 0;
    for (size_t l = 0; l < set.layers; ++l) {
      LayerEntropy e = layer_entropy(set, width, l);
      record.table.add({std::string(name(set.scenario)), fmt::format("width {}", width.width)},
                       {static_cast<double>(l + 1), e.nats.mean, e.nats.mean - e.nats.deviation,
                        e.nats.mean + e.nats.deviation, e.relative.mean});
      (l == 0 ? first : later) = l == 0 ? e.nats.mean : std::max(later, e.nats.mean);
      sum += e.nats.mean;
    }
    first_highest &= first > later;
    by_width.push_back(sum / static_cast<double>(set.layers));
    numbers += fmt::format("{}width {}: {:.3f} in the first, at most {:.3f} later",
                           numbers.empty() ? "" : "; ", width.width, first, later);
  }
  record.findings.push_back(
      {fmt::format("{}: attention is smoother in the first layer than in the others",
                   name(set.scenario)),
       "at every width the first layer's mean entropy is above that of every later layer", numbers,
       first_highest});
  record.findings.push_back(
      {fmt::format("{}: the entropy of narrow networks is a little higher", name(set.scenario)),
       "averaged over layers, the narrowest network's is above the widest's",
       fmt::format("{:.3f} at width {}, {:.3f} at width {}", by_width.front(),
                   set.widths.front().width, by_width.back(), set.widths.back().width),
       by_width.front() > by_width.back()});
}

}  // namespace

StudyRecord study_entropy(const StudyRequest& request) {
  std::vector<ScoreSet> sets = make_score_sets(request);
  StudyRecord record;
  record.table.names = {"edges", "width"};
  record.table.values = {"layer", "entropy", "low", "high", "entropy / ln(degree)"};
  for (const ScoreSet& set : sets) study_entropy_of(record, set);
  StudyFigure figure;
  figure.title = "Entropy of attention by layer";
  figure.sentence = "The mean over nodes and seeds; bars are one standard deviation over seeds.";
  figure.kind = "lines";
  figure.x = "layer";
  figure.y = "entropy";
  figure.series = "width";
  figure.panel = "edges";
  figure.low = "low";
  figure.high = "high";
  figure.x_title = "layer";
  figure.y_title = "entropy, nats";
  StudyFigure relative = figure;
  relative.title = "The same, as a share of the largest possible";
  relative.sentence = "Divided by the logarithm of the node's number of neighbours.";
  relative.y = "entropy / ln(degree)";
  relative.y_title = "entropy / ln(degree)";
  relative.low = relative.high = "";
  record.figures = {figure, relative};
  record.choices = score_set_choices(sets);
  record.choices.push_back("Besides the paper's entropy, one divided by ln(degree) is given.");
  return record;
}

}  // namespace spex
