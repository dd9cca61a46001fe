// Figure 5: the batch size of the second phase varied, all else fixed.
#include <fmt/format.h>
#include <spex/core/text.h>

#include <algorithm>

#include "study/figures.h"
#include "study/studies.h"
#include "study/training.h"

namespace spex {
namespace {

constexpr size_t kTimedNodes = 4'000;  // targets of the batches that are timed, and at least two
constexpr double kTradeFactor = 2.0;
constexpr size_t kScoreEpochs = 3;  // of the estimator: what the scores are does not matter here

}  // namespace

StudyRecord study_tradeoff(const StudyRequest& request) {
  Config config = request.config;
  config.phase("estimator").recipe.epochs = kScoreEpochs;
  tell_scorers(config);
  Problem problem =
      problem_with_scores(request.data, config, request.out / "estimator-short", request.hooks);
  size_t resident = memory_use().current;
  StudyRecord record;
  record.table.names = {"batch"};
  record.table.values = {"targets", "seconds per epoch", "peak bytes", "above the graph"};
  std::vector<EpochCost> costs;
  for (size_t batch : {64, 256, 1024, 4096, 16384, 65536, 0}) {
    if (batch >= problem.split.train.size()) continue;
    Phase phase = config.final();
    phase.recipe.batch_size = batch;
    size_t batches = batch ? std::max<size_t>(2, kTimedNodes / batch) : 1;
    costs.push_back(measure_phase(phase, problem, config, 3, batches));
    double bytes = static_cast<double>(costs.back().peak_bytes);
    record.table.add({batch ? fmt::to_string(batch) : "all nodes"},
                     {static_cast<double>(batch ? batch : problem.data.nodes()),
                      costs.back().seconds, bytes, bytes - static_cast<double>(resident)});
  }
  const EpochCost &least = costs.front(), &whole = costs.back();
  auto above = [&](const EpochCost& cost) {
    return static_cast<double>(cost.peak_bytes) - static_cast<double>(resident);
  };
  record.findings = {
      {"memory can be had for time",
       fmt::format("batches of {} need less than 1/{} of the memory of the whole graph at once, "
                   "beside data and graph, and more time",
                   record.table.rows.front().names[0], kTradeFactor),
       fmt::format("{} and {:.3g} s against {} and {:.3g} s",
                   format_size(static_cast<size_t>(above(least))), least.seconds,
                   format_size(static_cast<size_t>(above(whole))), whole.seconds),
       kTradeFactor * above(least) < above(whole) && least.seconds > whole.seconds}};
  StudyFigure figure;
  figure.title = "Time against memory";
  figure.sentence = "One dot per batch size, from batches of 64 (left) to the whole graph at once.";
  figure.kind = "lines";
  figure.x = "peak bytes";
  figure.y = "seconds per epoch";
  figure.x_title = "peak memory";
  figure.y_title = "seconds per training epoch";
  figure.x_unit = "bytes";
  figure.y_unit = "seconds";
  figure.log_x = figure.log_y = true;
  record.figures = {figure, by_size(figure, "targets", "targets in a batch", "above the graph",
                                    "memory beside data and graph", "bytes")};
  record.choices = {
      fmt::format("An epoch of batches is scaled up from about {} targets. Scores are "
                  "an estimator's after {} epochs. Training alone is timed; the "
                  "paper's times include evaluation.",
                  kTimedNodes, kScoreEpochs)};
  return record;
}

}  // namespace spex
