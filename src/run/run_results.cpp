#include "run/run_results.h"

#include <spex/core/cpu.h>
#include <spex/core/files.h>
#include <spex/run/analysis.h>
#include <spex/run/phases.h>
#include <spex/run/predict.h>

#include <algorithm>
#include <ctime>
#include <numeric>

#include "run/edgeless.h"
#include "run/run_summary.h"

namespace spex {
namespace {

size_t count_parameters(const Phase& phase, const Shape& shape) {
  return phase.model->make(shape, 0)->parameters().count();
}

std::string date_now() {
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts)};
}

class Results {
 public:
  explicit Results(const TrainedRun& run)
      : run_(run),
        objective_(run.problem.data.labels, run.config.split.metric,
                   run.problem.preparation.targets) {}

  RunRecord all() {
    RunRecord record;
    record.summary = summarise_run(run_.problem, run_.config, run_.records, judge_seeds());
    std::vector<TrainedNetwork> networks;
    for (size_t m = 0; m < run_.config.members; ++m)
      networks.push_back(open_network(run_.files.model(m)));
    const auto& [saved, model] = networks.front();
    if (run_.config.members > 1)
      record.details.networks = network_results(run_.config, run_.records);
    analyse_degrees(record.details, run_.problem.data.graph);
    record.details.edgeless_test = edgeless_score(run_.problem, run_.config);
    std::vector<MetricValue> test_metrics = predict_nodes(networks, record.details);
    if (const Scores* scores = run_.problem.scores_or_null())
      record.details.attention = analyse_attention(*scores, run_.problem.attention,
                                                   saved.phase.model->needs().sampling.degrees);
    record.details.made = {date_now(), run_.options.version, describe_isa(), run_.options.command};
    record.details.spectral_gap = run_.problem.spectral_gap;
    record.details.required_gap = run_.problem.required_gap;
    record.details.steps = make_steps();
    record.summary.metric = name(objective_.metric());
    record.summary.test_metrics = std::move(test_metrics);
    for (const TrainedNetwork& network : networks)
      record.summary.final.parameters += network.model->parameters().count();
    if (record.summary.estimator.epochs > 0) {
      record.summary.estimator.parameters =
          count_parameters(run_.config.phases.front(), shape_of(run_.problem, run_.config));
      record.summary.estimator_test =
          test_of(load_model(run_.files.phase(run_.config.phases.front().name)));
    }
    record.epochs = run_.records;
    record.config = config_keys(run_.config);
    write_text(run_.files.details(), to_json(record.details));
    write_text(run_.files.summary(), to_json(record.summary));
    return record;
  }

 private:
  // What each seed reached. Of several members, their average; those of the best seed are kept.
  std::vector<SeedResult> judge_seeds() const {
    std::vector<SeedResult> seeds = network_results(run_.config, run_.records);
    if (run_.config.members == 1) return seeds;
    for (size_t s = 0; s < run_.config.seeds; ++s) {
      seeds[s] = seeds[s * run_.config.members];
      seeds[s].seed = run_.config.seed + s;
      judge_average(seeds[s]);
    }
    seeds.resize(run_.config.seeds);
    const SeedResult& best = *std::max_element(
        seeds.begin(), seeds.end(),
        [](const SeedResult& a, const SeedResult& b) { return a.validation < b.validation; });
    for (size_t m = 0; m < run_.config.members; ++m)
      save_model(run_.files.model(m),
                 load_model(run_.files.network(best.seed * run_.config.members + m)));
    return seeds;
  }

  void judge_average(SeedResult& seed) const {
    std::vector<TrainedNetwork> networks;
    for (size_t m = 0; m < run_.config.members; ++m)
      networks.push_back(open_network(run_.files.network(seed.seed * run_.config.members + m)));
    const Split& split = run_.problem.split;
    std::vector<NodeId> nodes(split.validation.begin(), split.validation.end());
    nodes.insert(nodes.end(), split.test.begin(), split.test.end());
    Matrix logits =
        placed(logits_of(networks, run_.problem, nodes, run_.config.final().recipe.batch_size),
               nodes, run_.problem.data.nodes());
    seed.validation = objective_.score(logits, split.validation.span());
    seed.test = objective_.score(logits, split.test.span());
  }

  // Predictions for every node where one pass gives them all, else for the test nodes.
  std::vector<MetricValue> predict_nodes(std::span<const TrainedNetwork> networks,
                                         RunDetails& details) {
    const SavedModel& saved = networks.front().saved;
    std::span<const NodeId> test = run_.problem.split.test.span();
    Predictions predictions;
    predictions.meaning = saved.meaning;
    predictions.keys = run_.problem.data.keys;
    predictions.nodes.assign(test.begin(), test.end());
    if (saved.phase.recipe.batch_size == 0) {
      predictions.nodes.resize(run_.problem.data.nodes());
      std::iota(predictions.nodes.begin(), predictions.nodes.end(), 0U);
    }
    Matrix logits =
        logits_of(networks, run_.problem, predictions.nodes, saved.phase.recipe.batch_size);
    predictions.values = to_probabilities(logits, predictions.meaning);
    unscale(predictions.values, saved.preparation.targets);
    write_atomically(run_.files.predictions(),
                     [&](std::ostream& out) { write_csv(out, predictions); });
    look_at_nodes(details, analyse_mistakes(details, run_.problem.data, predictions, test));
    if (predictions.nodes.size() > test.size()) {
      Matrix chosen(test.size(), logits.cols(), MemoryTag::activations);
      for (size_t i = 0; i < test.size(); ++i)
        copy(chosen.view().block(i, 1), logits.view().block(test[i], 1));
      logits = std::move(chosen);
    }
    std::vector<MetricValue> metrics = metrics_of(logits, test);
    unscale(logits, saved.preparation.targets);
    analyse_predictions(details, run_.problem.data, logits, test);
    details.constant_test = constant_score(run_.problem.data.labels, run_.config.split.metric,
                                           run_.problem.split, run_.problem.data.nodes());
    return metrics;
  }

  std::vector<MetricValue> metrics_of(const Matrix& logits, std::span<const NodeId> nodes) const {
    std::vector<MetricValue> values;
    for (const auto& [name, value] :
         objective_.all_scores(placed(logits, nodes, run_.problem.data.nodes()), nodes))
      values.push_back({name, value});
    return values;
  }

  // Of the largest mistakes, and of as many others spread over the test nodes.
  void look_at_nodes(RunDetails& details, std::span<const NodeId> worst) {
    constexpr size_t kNodes = 4;
    const Scores* scores = run_.problem.scores_or_null();
    if (!scores) return;
    size_t layers = run_.config.final().model->needs().layers;
    worst = worst.first(std::min(kNodes, worst.size()));
    std::vector<NodeId> nodes(worst.begin(), worst.end());
    std::span<const NodeId> test = run_.problem.split.test.span();
    for (size_t i = 0; i < kNodes && !test.empty(); ++i)
      nodes.push_back(test[i * test.size() / kNodes]);
    for (NodeId node : nodes)
      details.looks.push_back(
          look_of(*scores, run_.problem.attention, run_.problem.data.keys, node, layers));
  }

  std::vector<PipelineStep> make_steps() {
    const AttentionGraph& graph = run_.problem.attention;
    size_t graph_bytes = sizeof(NodeId) * graph.edges() +
                         sizeof(EdgeOffset) * (graph.offsets.size() + graph.segment_ends.size());
    std::vector<PipelineStep> steps = {{"read data", run_.options.read_seconds, 0, 0, 0},
                                       {"graphs", run_.problem.graph_seconds, graph_bytes, 0, 0}};
    for (const Phase* phase : phases_to_train(run_.config, !run_.options.scores.empty())) {
      PipelineStep step{phase->name, 0, 0, 0, 0};
      for (const PhasePlan& plan : run_.options.plan.phases)
        if (plan.name == phase->name)
          step.forecast_seconds = plan.seconds, step.forecast_bytes = plan.bytes;
      for (const EpochRecord& r : run_.records)
        if (r.phase == phase->name) {
          step.seconds += r.seconds;
          step.peak_bytes = std::max(step.peak_bytes, r.peak_bytes);
        }
      steps.push_back(step);
    }
    return steps;
  }

  double test_of(const SavedModel& saved) {
    for (const EpochRecord& r : run_.records)
      if (r.phase == saved.phase.name && r.seed == saved.seed && r.epoch == saved.best_epoch)
        return r.test;
    return 0;
  }

  TrainedRun run_;
  Objective objective_;
};

}  // namespace

RunRecord run_results(const TrainedRun& run) {
  return Results(run).all();
}

}  // namespace spex
