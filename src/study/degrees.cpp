// Figure 8: accuracy, time and memory of the final network as it draws more neighbours.
#include <fmt/format.h>
#include <spex/model/spexphormer.h>
#include <spex/study/statistics.h>

#include <algorithm>

#include "study/figures.h"
#include "study/studies.h"
#include "study/training.h"

namespace spex {
namespace {

const std::vector<size_t> kDegrees = {2, 3, 5, 7, 10, 15, 20};

size_t largest_row(const AttentionGraph& graph) {
  size_t largest = 0;
  for (size_t i = 0; i < graph.nodes(); ++i)
    largest = std::max<size_t>(largest, graph.offsets[i + 1] - graph.offsets[i]);
  return largest;
}

}  // namespace

StudyRecord study_degrees(const StudyRequest& request) {
  Config config = request.config;
  config.seeds = request.seeds;
  std::filesystem::path folder = request.out / "degrees";
  Problem problem = problem_with_scores(request.data, config, folder / "estimator", request.hooks);
  StudyRecord record;
  record.table.names = {"degree"};
  record.table.values = {"neighbours", "test", "low", "high", "seconds per epoch", "peak bytes"};
  size_t layers = config.options<SpexphormerOptions>("spexphormer").degrees.size();
  std::vector<size_t> degrees = kDegrees;
  size_t all = largest_row(problem.attention);
  double average = static_cast<double>(problem.attention.edges()) /
                   static_cast<double>(problem.attention.nodes());
  std::erase_if(degrees, [&](size_t degree) { return degree >= all; });
  degrees.push_back(all);
  for (size_t degree : degrees) {
    Config one = config;
    one.options<SpexphormerOptions>("spexphormer").degrees.assign(layers, degree);
    bool is_all = degree == all;
    std::string label = is_all ? "all" : fmt::to_string(degree);
    RunRecord run = run_in(folder / ("degree-" + label), request.data, one,
                           folder / "estimator" / "scores.safetensors", request.hooks);
    const RunSummary& s = run.summary;
    record.table.add({label}, {is_all ? average : static_cast<double>(degree), s.test_mean,
                               s.test_mean - s.test_std, s.test_mean + s.test_std,
                               s.final.epoch_seconds, static_cast<double>(s.final.peak_bytes)});
  }
  const auto& rows = record.table.rows;
  std::vector<double> few, many;
  for (size_t i = 0; i < rows.size(); ++i)
    (i < rows.size() / 2 ? few : many).push_back(rows[i].values[1]);
  const auto &first = rows.front().values, &last = rows[rows.size() - 2].values;
  double low = moments(few).mean, high = moments(many).mean;
  record.findings = {
      {"larger sampling degrees generally lead to better results",
       "the mean over the larger half of the degrees is above that over the smaller half",
       fmt::format("{:.2f}% and {:.2f}%", 100 * high, 100 * low), high > low},
      {"and need more memory and time",
       fmt::format("both are larger for degree {} than for degree {}",
                   rows[rows.size() - 2].names[0], rows.front().names[0]),
       fmt::format("{:.3g} s and {:.3g} s; {:.3g} MB and {:.3g} MB", last[4], first[4],
                   1e-6 * last[5], 1e-6 * first[5]),
       last[4] > first[4] && last[5] > first[5]}};
  StudyFigure test;
  test.title = "Test metric by sampling degree";
  test.sentence = "Mean and standard deviation over seeds, at the best validation epoch.";
  test.kind = "lines";
  test.x = "neighbours";
  test.y = "test";
  test.low = "low";
  test.high = "high";
  test.x_title = "neighbours drawn per layer (all: their average number)";
  test.y_title = "test metric";
  test.y_unit = "percent";
  test.log_x = true;
  StudyFigure seconds = by_size(test, "neighbours", test.x_title, "seconds per epoch",
                                "seconds per epoch", "seconds");
  seconds.low = seconds.high = "";
  StudyFigure bytes =
      by_size(seconds, "neighbours", test.x_title, "peak bytes", "peak memory", "bytes");
  seconds.title = "Time by sampling degree";
  bytes.title = "Memory by sampling degree";
  record.figures = {test, seconds, bytes};
  record.choices = {
      "One estimator, with the preset's settings, serves all degrees; every layer draws the same "
      "number. Seconds include evaluation. With all neighbours the sample is as wide as the "
      "largest "
      "row, so memory shows the padding."};
  return record;
}

}  // namespace spex
