// Figure 3 and the pairwise ones: how far the attention of narrow networks is from a wide one's, as
// energy distances between samples over random initialisations.
#include <fmt/format.h>

#include <algorithm>

#include "study/attention_samples.h"
#include "study/studies.h"

namespace spex {
namespace {

constexpr double kFar = 0.5;     // "far nearer": at most this share of the references' distance
constexpr double kClose = 0.25;  // "already close"

// [layer][group a][group b], a < b; the mean over nodes.
std::vector<double> distances(const ScoreSet& set) {
  size_t groups = sample_sizes(set).size(), pairs = groups * groups;
  std::vector<double> mean = sum_over_rows(
      set, set.layers * pairs,
      [&] {
        return NodeScratch{Cloud(sample_sizes(set)), {}};
      },
      [&](std::vector<double>& sums, NodeId node, NodeScratch& scratch) {
        for (size_t l = 0; l < set.layers; ++l) {
          measure_node(scratch.cloud, scratch.row, set, l, node);
          for (size_t a = 0; a < groups; ++a)
            for (size_t b = a + 1; b < groups; ++b)
              sums[l * pairs + a * groups + b] += energy_distance(scratch.cloud, a, b);
        }
      });
  for (double& value : mean) value /= static_cast<double>(set.rows.size());
  return mean;
}

void add_rows(StudyTable& table, const ScoreSet& set) {
  std::vector<std::string> names = sample_names(set);
  size_t groups = names.size();
  std::vector<double> mean = distances(set);
  for (size_t layer = 0; layer <= set.layers; ++layer)
    for (size_t a = 0; a < groups; ++a)
      for (size_t b = 0; b < groups; ++b) {
        if (a == b) continue;
        std::vector<double> each;
        for (size_t l = 0; l < set.layers; ++l)
          if (layer == set.layers || l == layer)
            each.push_back(mean[l * groups * groups + std::min(a, b) * groups + std::max(a, b)]);
        Moments m = moments(each);
        table.add({std::string(name(set.scenario)),
                   each.size() > 1 ? "all layers" : fmt::format("layer {}", layer + 1), names[a],
                   names[b]},
                  {m.mean, m.mean - m.deviation, m.mean + m.deviation});
      }
}

double look_up(const StudyTable& table, const ScoreSet& set, const std::string& a,
               const std::string& b) {
  for (const StudyRow& row : table.rows)
    if (row.names[0] == name(set.scenario) && row.names[1] == "all layers" && row.names[2] == a &&
        row.names[3] == b)
      return row.values[0];
  return 0;
}

void judge(StudyRecord& record, const ScoreSet& set) {
  std::vector<std::string> names = sample_names(set);
  const std::string& widest = names[set.widths.size() - 1];
  double uniform = look_up(record.table, set, "uniform", widest);
  double random = look_up(record.table, set, "random", widest);
  double reference = std::min(uniform, random), worst = 0;
  std::string numbers;
  for (size_t i = 0; i + 1 < set.widths.size(); ++i) {
    double distance = look_up(record.table, set, names[i], widest);
    worst = std::max(worst, distance);
    numbers += fmt::format("{} {:.4f}, ", names[i], distance);
  }
  numbers += fmt::format("uniform {:.4f}, random {:.4f}", uniform, random);
  double narrowest = look_up(record.table, set, names.front(), widest);
  record.findings.push_back(
      {fmt::format("{}: every width is far nearer to {} than uniform and random scores are",
                   name(set.scenario), widest),
       fmt::format("the distance of every width is at most {} times the smaller of the two "
                   "references'",
                   kFar),
       numbers, reference > 0 && worst <= kFar * reference});
  record.findings.push_back(
      {fmt::format("{}: {} is already close", name(set.scenario), names.front()),
       fmt::format("its distance is at most {} times the smaller of the two references'", kClose),
       fmt::format("{:.4f} against {:.4f}", narrowest, reference),
       reference > 0 && narrowest <= kClose * reference});
}

}  // namespace

StudyRecord study_energy(const StudyRequest& request) {
  std::vector<ScoreSet> sets = make_score_sets(request);
  StudyRecord record;
  record.table.names = {"edges", "layer", "sample", "other"};
  record.table.values = {"energy distance", "low", "high"};
  for (const ScoreSet& set : sets) {
    add_rows(record.table, set);
    judge(record, set);
  }
  StudyFigure bars;
  bars.title = fmt::format("Distance to width {}", request.widths.back());
  bars.sentence =
      "Energy distance of score vectors, the mean over nodes and layers, and the standard "
      "deviation "
      "over layers (the paper's Figure 3).";
  bars.kind = "bars";
  bars.x = "sample";
  bars.y = bars.y_title = "energy distance";
  bars.low = "low";
  bars.high = "high";
  bars.panel = "edges";
  bars.x_title = "sample";
  bars.only = {"layer=all layers", fmt::format("other=width {}", request.widths.back())};
  StudyFigure heat;
  heat.title = "All pairs";
  heat.sentence = "The same for every pair of samples, layer by layer (Figures 9 to 13).";
  heat.kind = "heat";
  heat.x = "other";
  heat.y = "sample";
  heat.value = "energy distance";
  heat.panel = "edges+layer";
  record.figures = {bars, heat};
  record.choices = score_set_choices(sets);
  record.choices.push_back(
      "Energy distances leave out a vector's distance to itself, so they have no bias and may be a "
      "little below zero; Euclidean distances, no root. Random logits are as many as seeds.");
  return record;
}

}  // namespace spex
