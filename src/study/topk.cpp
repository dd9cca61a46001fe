// How much attention the k strongest neighbours of a node have.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "study/attention_samples.h"
#include "study/studies.h"

namespace spex {
namespace {

constexpr size_t kMost = 10;
constexpr size_t kBins = 1000;  // quantiles are read off a histogram: exact to a thousandth
constexpr size_t kFew = 5;
constexpr double kMostMass = 0.5, kAllMass = 0.95, kAlike = 0.1;

struct TopSums {
  double mean[kMost], quartiles[kMost][3];
};

// The value at this share of a histogram of [0, 1].
double histogram_quantile(const double* bins, double share) {
  double total = 0, seen = 0;
  for (size_t b = 0; b < kBins; ++b) total += bins[b];
  for (size_t b = 0; b < kBins; ++b)
    if ((seen += bins[b]) >= share * total)
      return (static_cast<double>(b) + 0.5) / static_cast<double>(kBins);
  return 1.0;
}

// Over all nodes, layers and seeds of a width.
TopSums top_sums(const ScoreSet& set, const WidthScores& width) {
  constexpr size_t kStride = kBins + 1;  // the bins, then the sum
  std::vector<double> sums = sum_over_rows(
      set, kMost * kStride, [] { return std::vector<float>(); },
      [&](std::vector<double>& sums, NodeId node, std::vector<float>& row) {
        for (size_t l = 0; l < set.layers; ++l)
          for (const Scores& scores : width.seeds) {
            load_row(row, set, scores, l, node);
            size_t top = std::min(kMost, row.size());
            std::partial_sort(row.begin(), row.begin() + static_cast<ptrdiff_t>(top), row.end(),
                              std::greater<>());
            double sum = 0;
            for (size_t k = 0; k < kMost; ++k) {
              sum += k < top ? row[k] : 0.0F;
              auto bin = static_cast<size_t>(std::clamp(sum, 0.0, 1.0) * kBins);
              ++sums[k * kStride + std::min(bin, kBins - 1)];
              sums[k * kStride + kBins] += sum;
            }
          }
      });
  TopSums result{};
  auto count = static_cast<double>(set.rows.size() * set.layers * width.seeds.size());
  for (size_t k = 0; k < kMost; ++k) {
    const double* bins = sums.data() + k * kStride;
    result.mean[k] = bins[kBins] / count;
    for (size_t q = 0; q < 3; ++q)
      result.quartiles[k][q] = histogram_quantile(bins, 0.25 * static_cast<double>(q + 1));
  }
  return result;
}

void judge(StudyRecord& record, const ScoreSet& set, const TopSums& narrow, const TopSums& wide) {
  double apart = 0;
  for (size_t k = 0; k < kMost; ++k)
    apart = std::max(apart, std::abs(narrow.mean[k] - wide.mean[k]));
  auto both = [&](size_t k) {
    return fmt::format("{:.2f} at width {}, {:.2f} at width {}", narrow.mean[k - 1],
                       set.widths.front().width, wide.mean[k - 1], set.widths.back().width);
  };
  record.findings.push_back(
      {fmt::format("{}: few neighbours carry most of the mass", name(set.scenario)),
       fmt::format("the {} largest scores have on average more than {} of it", kFew, kMostMass),
       both(kFew), std::min(narrow.mean[kFew - 1], wide.mean[kFew - 1]) > kMostMass});
  record.findings.push_back(
      {fmt::format("{}: but their sum is rarely close to one", name(set.scenario)),
       fmt::format("the {} largest have on average less than {}", kMost, kAllMass), both(kMost),
       std::max(narrow.mean[kMost - 1], wide.mean[kMost - 1]) < kAllMass});
  record.findings.push_back(
      {fmt::format("{}: narrow and wide networks are alike in this", name(set.scenario)),
       fmt::format("the means differ by at most {} for every k", kAlike),
       fmt::format("by {:.3f} at most", apart), apart <= kAlike});
}

}  // namespace

StudyRecord study_topk(const StudyRequest& request) {
  std::vector<ScoreSet> sets = make_score_sets(request);
  StudyRecord record;
  record.table.names = {"edges", "width"};
  record.table.values = {"k", "mean", "lower quartile", "median", "upper quartile"};
  for (const ScoreSet& set : sets) {
    std::vector<TopSums> sums;
    for (const WidthScores* width : {&set.widths.front(), &set.widths.back()}) {
      sums.push_back(top_sums(set, *width));
      for (size_t k = 0; k < kMost; ++k)
        record.table.add(
            {fmt::format("{}", name(set.scenario)), fmt::format("width {}", width->width)},
            {static_cast<double>(k + 1), sums.back().mean[k], sums.back().quartiles[k][0],
             sums.back().quartiles[k][1], sums.back().quartiles[k][2]});
    }
    judge(record, set, sums.front(), sums.back());
  }
  StudyFigure figure;
  figure.title = "Sum of the k largest scores";
  figure.sentence = "The mean over nodes, layers and seeds; bars span the middle half of them.";
  figure.kind = "lines";
  figure.x = "k";
  figure.y = "mean";
  figure.series = "width";
  figure.panel = "edges";
  figure.low = "lower quartile";
  figure.high = "upper quartile";
  figure.x_title = "k";
  figure.y_title = "sum of the k largest scores";
  record.figures = {figure};
  record.choices = score_set_choices(sets);
  record.choices.push_back("All layers and seeds are pooled; quartiles are exact to 0.001.");
  return record;
}

}  // namespace spex
