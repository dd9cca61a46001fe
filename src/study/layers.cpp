// Energy distances between the layers of networks of one width.
#include <fmt/format.h>

#include <algorithm>

#include "study/attention_samples.h"
#include "study/studies.h"

namespace spex {
namespace {

constexpr double kFirstLayerFactor = 2.0;

// [layer a][layer b], a < b; the mean over nodes.
std::vector<double> distances(const ScoreSet& set, const WidthScores& width) {
  std::vector<size_t> sizes(set.layers, width.seeds.size());
  std::vector<double> mean = sum_over_rows(
      set, set.layers * set.layers,
      [&] {
        return NodeScratch{Cloud(sizes), {}};
      },
      [&](std::vector<double>& sums, NodeId node, NodeScratch& scratch) {
        Cloud& cloud = scratch.cloud;
        cloud.start(set.graph.offsets[node + 1] - set.graph.offsets[node]);
        for (size_t l = 0; l < set.layers; ++l)
          for (size_t s = 0; s < width.seeds.size(); ++s) {
            load_row(scratch.row, set, width.seeds[s], l, node);
            cloud.set(l, s, scratch.row);
          }
        cloud.measure();
        for (size_t a = 0; a < set.layers; ++a)
          for (size_t b = a + 1; b < set.layers; ++b)
            sums[a * set.layers + b] += energy_distance(cloud, a, b);
      });
  for (double& value : mean) value /= static_cast<double>(set.rows.size());
  return mean;
}

void study_layers_of(StudyRecord& record, const ScoreSet& set) {
  bool agrees = true;
  std::string numbers;
  for (const WidthScores& width : set.widths) {
    std::vector<double> mean = distances(set, width);
    double first = 0, later = 0;
    for (size_t a = 0; a < set.layers; ++a)
      for (size_t b = 0; b < set.layers; ++b) {
        if (a == b) continue;
        double value = mean[std::min(a, b) * set.layers + std::max(a, b)];
        record.table.add({std::string(name(set.scenario)), fmt::format("width {}", width.width),
                          fmt::format("layer {}", a + 1), fmt::format("layer {}", b + 1)},
                         {100 * value});
        if (a < b) (a == 0 ? first : later) += value;
      }
    auto others = static_cast<double>(set.layers - 1);
    first /= others;
    later /= others * (others - 1) / 2;
    agrees &= first > kFirstLayerFactor * std::max(later, 0.0);
    numbers += fmt::format("{}width {}: {:.2f} and {:.2f}", numbers.empty() ? "" : "; ",
                           width.width, 100 * first, 100 * later);
  }
  record.findings.push_back(
      {fmt::format("{}: the first layer differs from the others, which are alike",
                   name(set.scenario)),
       fmt::format(
           "at every width the mean distance of the first layer to the others is above zero "
           "and more than {} times the mean distance among the others",
           kFirstLayerFactor),
       numbers + " (times 100)", agrees});
}

}  // namespace

StudyRecord study_layers(const StudyRequest& request) {
  std::vector<ScoreSet> sets = make_score_sets(request);
  StudyRecord record;
  record.table.names = {"edges", "width", "layer", "other"};
  record.table.values = {"energy distance x 100"};
  for (const ScoreSet& set : sets) study_layers_of(record, set);
  StudyFigure heat;
  heat.title = "Distances between layers";
  heat.sentence = "Energy distance times 100, the mean over nodes, between layers of one width.";
  heat.kind = "heat";
  heat.x = "other";
  heat.y = "layer";
  heat.value = "energy distance x 100";
  heat.panel = "edges+width";
  record.figures = {heat};
  record.choices = score_set_choices(sets);
  record.choices.push_back(
      "Two layers of one network belong together, where the energy distance is of independent "
      "samples: with few seeds the distances come out too small, and below zero where networks "
      "differ more than their layers do.");
  return record;
}

}  // namespace spex
