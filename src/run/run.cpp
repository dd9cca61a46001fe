#include <spex/core/cpu.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/log.h>
#include <spex/core/stopwatch.h>
#include <spex/core/threads.h>
#include <spex/run/analysis.h>
#include <spex/run/phases.h>
#include <spex/run/predict.h>
#include <spex/run/run.h>
#include <spex/run/run_lock.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>

#include "run/edgeless.h"
#include "run/run_folder.h"
#include "run/run_summary.h"

namespace spex {
namespace {

namespace fs = std::filesystem;

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

class TrainingRun {
 public:
  TrainingRun(Problem problem, const Config& config, const RunOptions& options,
              const RunHooks& hooks)
      : problem_(std::move(problem)),
        config_(config),
        options_(options),
        hooks_(hooks),
        files_{options.out},
        objective_(problem_.data.labels, config.split.metric, problem_.preparation.targets),
        shape_(shape_of(problem_, config)),
        folder_(files_, config_) {
    if (config_.threads == 0) config_.threads = static_cast<size_t>(threads());
  }

  RunResult run() {
    check_request();
    make_folder();
    RunLock lock(files_.lock());
    folder_.open(problem_, options_);
    if (hooks_.on_start) hooks_.on_start();
    RunResult result;
    if (fs::exists(files_.summary())) return finished_before();
    if (!obtain_scores() || !train_seeds()) return result;
    finish(result);
    remove_intermediate();
    result.finished = true;
    return result;
  }

 private:
  // What can be refused is refused before the folder is touched.
  void check_request() {
    require(!options_.resume || fs::exists(files_.config()),
            "{} holds no run to resume; leave --resume out to start one", files_.folder.string());
    check(config_);
    for (const Phase* phase : phases_to_train(config_, !options_.scores.empty()))
      phase->model->make(shape_, config_.seed);
    check_validation();
    if (options_.scores.empty()) return;
    require(config_.final().model->needs().scores, "{} draws by no scores; leave --scores out",
            config_.model);
    problem_.scores = load_scores(options_.scores, problem_.attention, problem_.fingerprint);
  }

  // The metric that chooses the best epoch must exist on the validation nodes.
  void check_validation() const {
    Matrix zeros =
        Matrix::zeros(problem_.data.nodes(), objective_.outputs(), MemoryTag::activations);
    double score = objective_.score(zeros, problem_.split.validation.span());
    require(!std::isnan(score),
            "{} cannot be computed on the validation nodes: their labels are all alike",
            name(objective_.metric()));
  }

  // The summary is the last file of a run, so nothing is left to do but the report.
  RunResult finished_before() {
    remove_intermediate();
    return {true, load_record(files_.folder)};
  }

  void remove_intermediate() const {
    fs::remove(files_.checkpoint());
    for (size_t n = 0; config_.members > 1 && n < config_.seeds * config_.members; ++n)
      fs::remove(files_.network(first_network(config_) + n));
  }

  void make_folder() {
    std::error_code error;
    fs::create_directories(files_.folder, error);
    require(!error, "cannot make the folder {}: {}", files_.folder.string(), error.message());
  }

  TrainerHooks trainer_hooks(const Phase& phase, size_t seed) {
    TrainerHooks hooks;
    since_checkpoint_ = Stopwatch();
    hooks.on_epoch = [this, epochs = phase.recipe.epochs](const EpochRecord& record) {
      folder_.add(record);
      if (hooks_.on_epoch) hooks_.on_epoch(record, epochs);
    };
    hooks.wants_checkpoint = [this](size_t) {
      return since_checkpoint_.seconds() >= options_.checkpoint_seconds;
    };
    hooks.checkpoint = [this, name = phase.name, seed](const TrainState& state) {
      folder_.write_metrics();
      save_checkpoint(files_.checkpoint(), {name, seed, state});
      since_checkpoint_ = Stopwatch();
    };
    hooks.stop = hooks_.stop;
    return hooks;
  }

  // Trains networks of a phase with consecutive seeds and keeps the best. False if it was told to
  // stop. Tries of a scorer are for the best alone, and end when none can be better.
  bool train(const Phase& phase, size_t first, size_t networks, const fs::path& file) {
    for (size_t seed = first; seed < first + networks; ++seed) {
      bool is_try = &phase != &config_.final() && seed > first;
      if (is_try && merit(load_model(file)) >= kPerfect) break;
      if (folder_.is_past(phase.name, seed)) continue;
      std::unique_ptr<Model> model = phase.model->make(shape_, seed);
      TrainState state = folder_.state_for(phase.name, seed);
      if (!train_phase(phase, *model, problem_, config_, seed, state, trainer_hooks(phase, seed))) {
        keep_so_far(file, phase, seed, std::move(state));
        return false;
      }
      for (EpochRecord& record : folder_.records())
        if (record.phase == phase.name && record.seed == seed && record.epoch == state.best_epoch)
          record.test = state.best_test;
      keep_best(file, phase, seed, std::move(state));
    }
    return true;
  }

  // A run that was stopped can predict with the best it had. What another seed left is not touched:
  // the continued run compares it with what this seed reaches in the end.
  void keep_so_far(const fs::path& file, const Phase& phase, size_t seed, TrainState state) const {
    bool of_another = fs::exists(file) && load_model(file).seed != seed;
    if (!state.best.empty() && !of_another) keep_best(file, phase, seed, std::move(state));
  }

  void keep_best(const fs::path& file, const Phase& phase, size_t seed, TrainState state) const {
    SavedModel found = {phase,
                        shape_,
                        meaning_of(problem_.data),
                        problem_.preparation,
                        seed,
                        state.best_epoch,
                        state.best_validation,
                        state.best_temperature,
                        std::move(state.best)};
    if (phase.name == config_.final().name && config_.members > 1)
      save_model(files_.network(seed), found);
    if (fs::exists(file)) {
      SavedModel kept = load_model(file);
      if (kept.seed != seed && merit(kept) >= merit(found)) return;
    }
    save_model(file, found);
  }

  // What seeds of a phase are compared by.
  double merit(const SavedModel& saved) const {
    if (saved.phase.name == config_.final().name) return saved.validation;
    return validation_of_samples(*saved.make(), saved.phase, problem_, config_, saved.temperature);
  }

  // From the phases before the last, or from a file. False if it was told to stop.
  bool obtain_scores() {
    if (!config_.final().model->needs().scores) return true;
    if (!fs::exists(files_.scores())) {
      if (problem_.scores_or_null())
        save_scores(files_.scores(), problem_.scores, problem_.fingerprint);
      else if (!train_scorers())
        return false;
    }
    problem_.scores = load_scores(files_.scores(), problem_.attention, problem_.fingerprint);
    return true;
  }

  bool train_scorers() {
    for (const Phase* phase : phases_to_train(config_, false)) {
      if (phase == &config_.final()) break;
      Stopwatch watch;
      fs::path file = files_.phase(phase->name);
      if (!train(*phase, config_.seed, phase->model->tries(), file)) return false;
      SavedModel saved = load_model(file);
      std::unique_ptr<Model> best = saved.make();
      save_scores(files_.scores(),
                  attention_scores(*best, saved.phase, problem_, saved.temperature),
                  problem_.fingerprint);
      log("{} trained in {:.1f} s", phase->name, watch.seconds());
      trim_memory();
    }
    return true;
  }

  bool train_seeds() {
    size_t networks = config_.seeds * config_.members;
    if (!train(config_.final(), first_network(config_), networks, files_.model())) return false;
    folder_.write_metrics();
    return true;
  }

  // What each seed reached. Of several members, their average; those of the best seed are kept.
  std::vector<SeedResult> judge_seeds() const {
    std::vector<SeedResult> seeds = network_results(config_, folder_.records());
    if (config_.members == 1) return seeds;
    for (size_t s = 0; s < config_.seeds; ++s) {
      seeds[s] = seeds[s * config_.members];
      seeds[s].seed = config_.seed + s;
      judge_average(seeds[s]);
    }
    seeds.resize(config_.seeds);
    const SeedResult& best = *std::max_element(
        seeds.begin(), seeds.end(),
        [](const SeedResult& a, const SeedResult& b) { return a.validation < b.validation; });
    for (size_t m = 0; m < config_.members; ++m)
      save_model(files_.model(m), load_model(files_.network(best.seed * config_.members + m)));
    return seeds;
  }

  void judge_average(SeedResult& seed) const {
    std::vector<TrainedNetwork> networks;
    for (size_t m = 0; m < config_.members; ++m)
      networks.push_back(open_network(files_.network(seed.seed * config_.members + m)));
    auto score = [&](std::span<const NodeId> nodes) {
      Matrix logits = logits_of(networks, problem_, nodes, config_.final().recipe.batch_size);
      return objective_.score(placed(logits, nodes), nodes);
    };
    seed.validation = score(problem_.split.validation.span());
    seed.test = score(problem_.split.test.span());
  }

  // Predictions for every node where one pass gives them all, else for the test nodes.
  std::vector<MetricValue> predict_nodes(std::span<const TrainedNetwork> networks,
                                         RunDetails& details) {
    const SavedModel& saved = networks.front().saved;
    std::span<const NodeId> test = problem_.split.test.span();
    Predictions predictions;
    predictions.meaning = saved.meaning;
    predictions.keys = problem_.data.keys;
    predictions.nodes.assign(test.begin(), test.end());
    if (saved.phase.recipe.batch_size == 0) {
      predictions.nodes.resize(problem_.data.nodes());
      std::iota(predictions.nodes.begin(), predictions.nodes.end(), 0U);
    }
    Matrix logits = logits_of(networks, problem_, predictions.nodes, saved.phase.recipe.batch_size);
    predictions.values = to_probabilities(logits, predictions.meaning);
    unscale(predictions.values, saved.preparation.targets);
    write_atomically(files_.predictions(), [&](std::ostream& out) { write_csv(out, predictions); });
    look_at_nodes(details, analyse_mistakes(details, problem_.data, predictions, test));
    if (predictions.nodes.size() > test.size()) {
      Matrix chosen(test.size(), logits.cols(), MemoryTag::activations);
      for (size_t i = 0; i < test.size(); ++i)
        copy(chosen.view().block(i, 1), logits.view().block(test[i], 1));
      logits = std::move(chosen);
    }
    std::vector<MetricValue> metrics = metrics_of(logits, test);
    unscale(logits, saved.preparation.targets);
    analyse_predictions(details, problem_.data, logits, test);
    details.constant_test = constant_score(problem_.data.labels, config_.split.metric,
                                           problem_.split, problem_.data.nodes());
    return metrics;
  }

  // Rows for each of `nodes`, at their places among all nodes.
  Matrix placed(const Matrix& logits, std::span<const NodeId> nodes) const {
    Matrix all = Matrix::zeros(problem_.data.nodes(), logits.cols(), MemoryTag::activations);
    for (size_t i = 0; i < nodes.size(); ++i)
      copy(all.view().block(nodes[i], 1), logits.view().block(i, 1));
    return all;
  }

  std::vector<MetricValue> metrics_of(const Matrix& logits, std::span<const NodeId> nodes) const {
    std::vector<MetricValue> values;
    for (const auto& [name, value] : objective_.all_scores(placed(logits, nodes), nodes))
      values.push_back({name, value});
    return values;
  }

  // Of the largest mistakes, and of as many others spread over the test nodes.
  void look_at_nodes(RunDetails& details, std::span<const NodeId> worst) {
    constexpr size_t kNodes = 4;
    const Scores* scores = problem_.scores_or_null();
    if (!scores) return;
    size_t layers = config_.final().model->needs().layers;
    worst = worst.first(std::min(kNodes, worst.size()));
    std::vector<NodeId> nodes(worst.begin(), worst.end());
    std::span<const NodeId> test = problem_.split.test.span();
    for (size_t i = 0; i < kNodes && !test.empty(); ++i)
      nodes.push_back(test[i * test.size() / kNodes]);
    for (NodeId node : nodes)
      details.looks.push_back(
          look_of(*scores, problem_.attention, problem_.data.keys, node, layers));
  }

  std::vector<PipelineStep> make_steps() {
    const AttentionGraph& graph = problem_.attention;
    size_t graph_bytes = sizeof(NodeId) * graph.edges() +
                         sizeof(EdgeOffset) * (graph.offsets.size() + graph.segment_ends.size());
    std::vector<PipelineStep> steps = {{"read data", options_.read_seconds, 0, 0, 0},
                                       {"graphs", problem_.graph_seconds, graph_bytes, 0, 0}};
    for (const Phase* phase : phases_to_train(config_, !options_.scores.empty())) {
      PipelineStep step{phase->name, 0, 0, 0, 0};
      for (const PhasePlan& plan : options_.plan.phases)
        if (plan.name == phase->name)
          step.forecast_seconds = plan.seconds, step.forecast_bytes = plan.bytes;
      for (const EpochRecord& r : folder_.records())
        if (r.phase == phase->name) {
          step.seconds += r.seconds;
          step.peak_bytes = std::max(step.peak_bytes, r.peak_bytes);
        }
      steps.push_back(step);
    }
    return steps;
  }

  double test_of(const SavedModel& saved) {
    for (const EpochRecord& r : folder_.records())
      if (r.phase == saved.phase.name && r.seed == saved.seed && r.epoch == saved.best_epoch)
        return r.test;
    return 0;
  }

  void finish(RunResult& result) {
    RunRecord& record = result.record;
    record.summary = summarise_run(problem_, config_, folder_.records(), judge_seeds());
    std::vector<TrainedNetwork> networks;
    for (size_t m = 0; m < config_.members; ++m) networks.push_back(open_network(files_.model(m)));
    const auto& [saved, model] = networks.front();
    if (config_.members > 1) record.details.networks = network_results(config_, folder_.records());
    analyse_degrees(record.details, problem_.data.graph);
    record.details.edgeless_test = edgeless_score(problem_, config_);
    std::vector<MetricValue> test_metrics = predict_nodes(networks, record.details);
    if (const Scores* scores = problem_.scores_or_null())
      record.details.attention = analyse_attention(*scores, problem_.attention,
                                                   saved.phase.model->needs().sampling.degrees);
    record.details.made = {date_now(), options_.version, describe_isa(), options_.command};
    record.details.spectral_gap = problem_.spectral_gap;
    record.details.required_gap = problem_.required_gap;
    record.details.steps = make_steps();
    record.summary.metric = name(objective_.metric());
    record.summary.test_metrics = std::move(test_metrics);
    record.summary.final.parameters = config_.members * model->parameters().count();
    if (record.summary.estimator.epochs > 0) {
      record.summary.estimator.parameters = count_parameters(config_.phases.front(), shape_);
      record.summary.estimator_test =
          test_of(load_model(files_.phase(config_.phases.front().name)));
    }
    record.epochs = folder_.records();
    record.config = config_keys(config_);
    write_text(files_.details(), to_json(record.details));
    write_text(files_.summary(), to_json(record.summary));
  }

  Problem problem_;
  Config config_;
  RunOptions options_;
  RunHooks hooks_;
  RunFiles files_;
  Objective objective_;
  Shape shape_;
  RunFolder folder_;
  Stopwatch since_checkpoint_;
};

}  // namespace

RunResult run_training(Problem problem, const Config& config, const RunOptions& options,
                       const RunHooks& hooks) {
  Config told = config;
  tell_scorers(told);
  return TrainingRun(std::move(problem), told, options, hooks).run();
}

EstimateResult run_estimate(const Problem& problem, const Config& config,
                            const fs::path& scores_file, const RunHooks& hooks) {
  require(config.phases.size() > 1, "{} draws by no scores; there is nothing to estimate",
          config.model);
  Config told = config;
  tell_scorers(told);
  TrainerHooks trainer;
  trainer.on_epoch = [&](const EpochRecord& record) {
    if (hooks.on_epoch) hooks.on_epoch(record, told.phases.front().recipe.epochs);
  };
  trainer.stop = hooks.stop;
  std::optional<Estimate> estimate = estimate_scores(problem, told, trainer);
  require(estimate.has_value(), "stopped before the estimator was trained; nothing was written");
  save_scores(scores_file, estimate->scores, problem.fingerprint);
  return {estimate->validation, estimate->test};
}

}  // namespace spex
