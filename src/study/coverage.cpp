// Precision, recall, density and coverage of narrow networks' attention against the widest's.
#include <fmt/format.h>
#include <spex/core/error.h>

#include <algorithm>
#include <array>

#include "study/attention_samples.h"
#include "study/studies.h"

namespace spex {
namespace {

constexpr size_t kNearest = 5;
constexpr double kHigh = 0.5;
constexpr size_t kMetrics = 4;
const std::array<const char*, kMetrics> kMetricNames = {"precision", "recall", "density",
                                                        "coverage"};

// Values of every node and layer, by group and metric: [group][metric][row * layers + layer].
using Values = std::vector<std::array<std::vector<double>, kMetrics>>;

// Groups but the widest network's, which is what they are held against.
std::vector<size_t> others_of(const ScoreSet& set) {
  std::vector<size_t> others;
  for (size_t g = 0; g < set.widths.size() + 2; ++g)
    if (g + 1 != set.widths.size()) others.push_back(g);
  return others;
}

Values measure(const ScoreSet& set, size_t k) {
  std::vector<size_t> others = others_of(set);
  Values values(others.size());
  for (auto& group : values)
    for (auto& metric : group) metric.resize(set.rows.size() * set.layers);
  constexpr size_t kRows = 64;
  parallel_for(set.rows.size(), kRows, [&](size_t begin, size_t end) {
    Cloud cloud(sample_sizes(set));
    std::vector<float> scratch;
    for (size_t r = begin; r < end; ++r)
      for (size_t l = 0; l < set.layers; ++l) {
        measure_node(cloud, scratch, set, l, set.rows[r]);
        for (size_t g = 0; g < others.size(); ++g) {
          Closeness c = closeness(cloud, set.widths.size() - 1, others[g], k);
          const std::array<double, kMetrics> each = {c.precision, c.recall, c.density, c.coverage};
          for (size_t m = 0; m < kMetrics; ++m) values[g][m][r * set.layers + l] = each[m];
        }
      }
  });
  return values;
}

void study_coverage_of(StudyRecord& record, const ScoreSet& set, size_t k) {
  std::vector<std::string> names = sample_names(set);
  std::vector<size_t> others = others_of(set);
  Values values = measure(set, k);
  double least = 1e30;
  std::string numbers;
  bool references_fall_short = true;
  for (size_t g = 0; g < others.size(); ++g) {
    std::array<double, kMetrics> means{};
    for (size_t m = 0; m < kMetrics; ++m) {
      const std::vector<double>& all = values[g][m];
      means[m] = moments(all).mean;
      record.table.add({std::string(name(set.scenario)), names[others[g]], kMetricNames[m]},
                       {means[m], quantile(all, 0.25), quantile(all, 0.5), quantile(all, 0.75)});
    }
    bool is_width = others[g] < set.widths.size();
    if (is_width) least = std::min(least, *std::min_element(means.begin(), means.end()));
    if (!is_width)
      references_fall_short &=
          std::min(means[0], means[1]) < kHigh && std::min(means[2], means[3]) < kHigh;
    numbers += fmt::format("{}{} {:.2f} {:.2f} {:.2f} {:.2f}", g ? "; " : "", names[others[g]],
                           means[0], means[1], means[2], means[3]);
  }
  record.findings.push_back(
      {fmt::format("{}: narrow widths cover most of what width {} does", name(set.scenario),
                   set.widths.back().width),
       fmt::format("the mean of each of the four metrics is at least {} at every narrower width",
                   kHigh),
       numbers, least >= kHigh});
  record.findings.push_back(
      {fmt::format("{}: uniform and random scores fall short in one metric of each pair",
                   name(set.scenario)),
       fmt::format("for both, precision or recall is below {0}, and density or coverage is below "
                   "{0}",
                   kHigh),
       "the last two of the numbers above", references_fall_short});
}

}  // namespace

StudyRecord study_coverage(const StudyRequest& request) {
  require(request.seeds > 1, "precision and recall need several seeds; ask for more with --seeds");
  require(request.widths.size() > 1, "there must be at least two widths to compare");
  std::vector<ScoreSet> sets = make_score_sets(request);
  size_t k = std::min(kNearest, request.seeds - 1);
  StudyRecord record;
  record.table.names = {"edges", "sample", "metric"};
  record.table.values = {"mean", "lower quartile", "median", "upper quartile"};
  for (const ScoreSet& set : sets) study_coverage_of(record, set, k);
  StudyFigure figure;
  figure.title = fmt::format("How well samples reproduce width {}", request.widths.back());
  figure.sentence = "The mean over nodes and layers; bars span the middle half of them.";
  figure.kind = "bars";
  figure.x = "metric";
  figure.y = "mean";
  figure.series = "sample";
  figure.panel = "edges";
  figure.low = "lower quartile";
  figure.high = "upper quartile";
  figure.x_title = "metric";
  figure.y_title = "value (density may exceed 1)";
  record.figures = {figure};
  record.choices = score_set_choices(sets);
  record.choices.push_back(fmt::format(
      "Balls reach to the {}-th nearest vector of the own sample and are open; the paper does not "
      "say how many neighbours it takes (ours: 5, or all but one of fewer seeds).",
      k));
  return record;
}

}  // namespace spex
