#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/json_list.h>
#include <spex/core/log.h>
#include <spex/core/stopwatch.h>
#include <spex/core/threads.h>
#include <spex/train/analysis.h>
#include <spex/train/checkpoint.h>
#include <spex/train/phases.h>
#include <spex/train/predict.h>
#include <spex/train/run.h>
#include <spex/train/run_lock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "train/run_summary.h"

namespace spex {
namespace {

namespace fs = std::filesystem;
// What must be the same in a run and its continuation. A data set may have moved, and recomputing
// changes no number.
std::vector<ConfigKey> comparable(Config config) {
  config.final.recompute = false;
  config.data = fs::path(config.data).filename();
  return config_keys(config);
}

size_t count_numbers(const NetworkState& state) {
  size_t count = 0;
  for (const auto& [name, values] : state)
    if (name.find(".running_") == std::string::npos) count += values.size();
  return count;
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
        objective_(problem_.data.labels, config.split.metric) {
    if (config_.threads == 0) config_.threads = static_cast<size_t>(threads());
  }

  RunResult run() {
    check_request();
    prepare_folder();
    RunLock lock(files_.lock());
    open_folder();
    RunResult result;
    if (fs::exists(files_.summary())) return finished_before();
    if (!obtain_scores() || !train_seeds()) return result;
    finish(result);
    fs::remove(files_.checkpoint());
    result.finished = true;
    return result;
  }

 private:
  // What can be refused is refused before the folder is touched.
  void check_request() {
    require(!options_.resume || fs::exists(files_.config()),
            "{} holds no run to resume; leave --resume out to start one", files_.folder.string());
    check(config_);
    make_final_network(config_.seed);
    check_validation();
    if (!needs_scores(config_)) return;
    if (options_.scores.empty())
      make_estimator(config_.seed);
    else
      scores_ = load_scores(options_.scores, problem_.graph, problem_.fingerprint);
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
    fs::remove(files_.checkpoint());
    return {true, load_record(files_.folder)};
  }

  Network make_estimator(size_t seed) const {
    return Network(estimator_options(config_, feature_count(problem_.data.features),
                                     objective_.outputs(), problem_.graph),
                   seed);
  }

  Network make_final_network(size_t seed) const {
    return Network(final_options(config_, feature_count(problem_.data.features),
                                 objective_.outputs(), problem_.graph),
                   seed);
  }

  void prepare_folder() {
    std::error_code error;
    fs::create_directories(files_.folder, error);
    require(!error, "cannot make the folder {}: {}", files_.folder.string(), error.message());
  }

  // A new run needs a folder without a run in it; a continued one must be of the same
  // configuration.
  void open_folder() {
    if (!options_.resume) {
      for (const fs::path& file :
           {files_.config(), files_.metrics(), files_.estimator(), files_.scores(),
            files_.attention(), files_.model(), files_.checkpoint(), files_.summary()})
        require(!fs::exists(file),
                "{} already holds a run ({}); give another --out, or --resume to continue that one",
                files_.folder.string(), file.filename().string());
      write_text(files_.config(), to_toml(config_));
      save_attention_graph(files_.attention(), problem_.graph, problem_.fingerprint);
      return;
    }
    Config before;
    apply_toml(before, read_text(files_.config()), files_.config().string());
    check_same_configuration(before);
    check_same_graph();
    checkpoint_ = load_checkpoint(files_.checkpoint());
    if (fs::exists(files_.metrics()))
      records_ = parse_csv(read_text(files_.metrics()), files_.metrics().string());
    drop_later_records();
  }

  void check_same_configuration(const Config& before) {
    auto old_keys = comparable(before), new_keys = comparable(config_);
    for (size_t i = 0; i < old_keys.size(); ++i)
      require(
          old_keys[i].value == new_keys[i].value,
          "{} belongs to another configuration: {} is {} there and {} here; resume with the same "
          "settings, or give another --out",
          files_.folder.string(), old_keys[i].key, old_keys[i].value, new_keys[i].value);
  }

  // A run that was killed as it began may lack its graph.
  void check_same_graph() {
    if (!fs::exists(files_.attention()))
      save_attention_graph(files_.attention(), problem_.graph, problem_.fingerprint);
    require(load_attention_graph(files_.attention()).fingerprint == problem_.fingerprint,
            "{} belongs to another graph than {}; resume with the same data, or give another --out",
            files_.folder.string(), config_.data);
  }

  // Rows that were written after the last checkpoint will be made again.
  void drop_later_records() {
    std::erase_if(records_, [&](const EpochRecord& r) {
      if (!checkpoint_) return r.phase == "final" || !fs::exists(files_.scores());
      if (r.phase != checkpoint_->phase) return r.phase == "final";
      return r.seed > checkpoint_->seed ||
             (r.seed == checkpoint_->seed && r.epoch >= checkpoint_->state.next_epoch);
    });
  }

  // The state to start a training from: the checkpoint's if it is of this phase and seed.
  TrainState state_for(const std::string& phase, size_t seed) const {
    if (checkpoint_ && checkpoint_->phase == phase && checkpoint_->seed == seed)
      return checkpoint_->state;
    return {};
  }

  bool is_past(const std::string& phase, size_t seed) const {
    return checkpoint_ && checkpoint_->phase == phase && checkpoint_->seed > seed;
  }

  TrainerHooks trainer_hooks(const std::string& phase, size_t seed, size_t epochs) {
    TrainerHooks hooks;
    since_checkpoint_ = Stopwatch();
    hooks.on_epoch = [this, epochs](const EpochRecord& record) {
      records_.push_back(record);
      if (hooks_.on_epoch) hooks_.on_epoch(record, epochs);
    };
    hooks.wants_checkpoint = [this](size_t) {
      return since_checkpoint_.seconds() >= options_.checkpoint_seconds;
    };
    hooks.checkpoint = [this, phase, seed](const TrainState& state) {
      write_text(files_.metrics(), to_csv(records_));
      save_checkpoint(files_.checkpoint(), {phase, seed, state});
      since_checkpoint_ = Stopwatch();
    };
    hooks.stop = hooks_.stop;
    return hooks;
  }

  std::map<std::string, std::string> network_metadata(const Network& network, size_t seed,
                                                      const TrainState& state) const {
    return {{"inputs", fmt::format("{}", network.options().inputs)},
            {"outputs", fmt::format("{}", network.options().outputs)},
            {"edge_types", fmt::format("{}", network.options().edge_types)},
            {"seed", fmt::format("{}", seed)},
            {"best_epoch", fmt::format("{}", state.best_epoch)},
            {"validation", fmt::format("{}", state.best_validation)},
            {"temperature", fmt::format("{}", state.best_temperature)},
            {"task", fmt::format("{}", static_cast<int>(problem_.data.labels.task))},
            {"class_names", to_json_list(meaning_of(problem_.data).class_names)}};
  }

  // Keeps the network if it is better on validation than the one in the file.
  void keep_best(const fs::path& file, const Network& network, size_t seed,
                 const TrainState& state) const {
    if (fs::exists(file)) {
      auto saved = load_network(file).metadata;
      if (std::stod(saved.at("validation")) >= state.best_validation &&
          saved.at("seed") != fmt::format("{}", seed))
        return;
    }
    save_network(file, state.best, network_metadata(network, seed, state));
  }

  // Phase 1, or the scores that were given. False if it was told to stop.
  bool obtain_scores() {
    if (!needs_scores(config_)) return true;
    if (!fs::exists(files_.scores())) {
      if (scores())
        save_scores(files_.scores(), scores_, problem_.fingerprint);
      else if (!train_estimators())
        return false;
    }
    scores_ = load_scores(files_.scores(), problem_.graph, problem_.fingerprint);
    return true;
  }

  bool train_estimators() {
    Stopwatch watch;
    for (size_t t = 0; t < std::max<size_t>(1, config_.estimator.tries); ++t) {
      size_t seed = config_.seed + t;
      if (is_past("estimator", seed)) continue;
      Network network = make_estimator(seed);
      TrainState state = state_for("estimator", seed);
      if (!train_estimator(network, problem_, config_, seed, state,
                           trainer_hooks("estimator", seed, config_.estimator.optimiser.epochs)))
        return false;
      keep_best(files_.estimator(), network, seed, state);
    }
    SavedNetwork saved = load_network(files_.estimator());
    Network best = make_estimator(config_.seed);
    load_state(best, saved.state);
    Scores scores =
        estimate_scores(best, problem_.graph, problem_.transposed, problem_.data.features,
                        std::stof(saved.metadata.at("temperature")));
    save_scores(files_.scores(), scores, problem_.fingerprint);
    log("estimator trained in {:.1f} s", watch.seconds());
    trim_memory();
    return true;
  }

  bool train_seeds() {
    for (size_t s = 0; s < config_.seeds; ++s) {
      size_t seed = config_.seed + s;
      if (is_past("final", seed)) continue;
      Network network = make_final_network(seed);
      TrainState state = state_for("final", seed);
      if (!train_final(network, problem_, scores(), config_, seed, state,
                       trainer_hooks("final", seed, config_.final.optimiser.epochs)))
        return false;
      for (EpochRecord& record : records_)
        if (record.phase == "final" && record.seed == seed && record.epoch == state.best_epoch)
          record.test = state.best_test;
      keep_best(files_.model(), network, seed, state);
    }
    write_text(files_.metrics(), to_csv(records_));
    return true;
  }

  const Scores* scores() const { return scores_.layers.empty() ? nullptr : &scores_; }

  // Predictions for every node where one pass gives them all, else for the test nodes.
  void predict_nodes(Network& network, const SavedNetwork& saved, RunDetails& details) {
    std::span<const NodeId> test = problem_.split.test.span();
    Predictions predictions;
    predictions.meaning = meaning_of(problem_.data);
    predictions.nodes.assign(test.begin(), test.end());
    if (config_.final.batch_size == 0 || config_.model == Model::exphormer) {
      predictions.nodes.resize(problem_.data.nodes());
      std::iota(predictions.nodes.begin(), predictions.nodes.end(), 0U);
    }
    Matrix logits = predict_logits(
        network, problem_.data.features, problem_.graph, problem_.transposed, scores(), config_,
        std::stoul(saved.metadata.at("seed")), std::stoul(saved.metadata.at("best_epoch")),
        predictions.nodes, config_.final.batch_size);
    predictions.values = to_probabilities(logits, predictions.meaning);
    write_atomically(files_.predictions(), [&](std::ostream& out) { write_csv(out, predictions); });
    if (predictions.nodes.size() > test.size()) {
      Matrix chosen(test.size(), logits.cols(), MemoryTag::activations);
      for (size_t i = 0; i < test.size(); ++i)
        copy(chosen.view().block(i, 1), logits.view().block(test[i], 1));
      logits = std::move(chosen);
    }
    analyse_predictions(details, problem_.data, logits, test);
  }

  std::vector<PipelineStep> make_steps() const {
    size_t graph_bytes =
        sizeof(NodeId) * problem_.graph.edges() +
        sizeof(EdgeOffset) * (problem_.graph.offsets.size() + problem_.graph.segment_ends.size());
    std::vector<PipelineStep> steps = {
        {"read data", options_.read_seconds, 0, 0, 0},
        {"attention graph", problem_.graph_seconds, graph_bytes, 0, 0}};
    for (const PhasePlan& phase : options_.plan.phases) {
      PipelineStep step{phase.name, 0, 0, phase.seconds, phase.bytes};
      for (const EpochRecord& r : records_)
        if (r.phase == phase.name) {
          step.seconds += r.seconds;
          step.peak_bytes = std::max(step.peak_bytes, r.peak_bytes);
        }
      steps.push_back(step);
    }
    return steps;
  }

  void finish(RunResult& result) {
    SavedNetwork saved = load_network(files_.model());
    Network network = make_final_network(config_.seed);
    load_state(network, saved.state);
    RunRecord& record = result.record;
    analyse_degrees(record.details, problem_.data.graph);
    predict_nodes(network, saved, record.details);
    if (scores())
      record.details.attention = analyse_attention(scores_, problem_.graph, config_.final.degrees);
    record.details.spectral_gap = problem_.spectral_gap;
    record.details.required_gap = problem_.required_gap;
    record.details.steps = make_steps();
    record.summary = summarise_run(problem_, config_, records_);
    record.summary.metric = name(objective_.metric());
    record.summary.final.parameters = network.parameters().count();
    if (fs::exists(files_.estimator()))
      record.summary.estimator.parameters = count_numbers(load_network(files_.estimator()).state);
    record.epochs = records_;
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
  Scores scores_;
  std::optional<Checkpoint> checkpoint_;
  std::vector<EpochRecord> records_;
  Stopwatch since_checkpoint_;
};

}  // namespace

RunResult run_training(Problem problem, const Config& config, const RunOptions& options,
                       const RunHooks& hooks) {
  return TrainingRun(std::move(problem), config, options, hooks).run();
}

EstimateResult run_estimate(const Problem& problem, const Config& config,
                            const fs::path& scores_file, const RunHooks& hooks) {
  Objective objective(problem.data.labels, config.split.metric);
  TrainState best;
  for (size_t t = 0; t < std::max<size_t>(1, config.estimator.tries); ++t) {
    Network network(estimator_options(config, feature_count(problem.data.features),
                                      objective.outputs(), problem.graph),
                    config.seed + t);
    TrainState state;
    TrainerHooks trainer;
    trainer.on_epoch = [&](const EpochRecord& record) {
      if (hooks.on_epoch) hooks.on_epoch(record, config.estimator.optimiser.epochs);
    };
    trainer.stop = hooks.stop;
    require(train_estimator(network, problem, config, config.seed + t, state, trainer),
            "stopped before the estimator was trained; nothing was written");
    if (best.best.empty() || state.best_validation > best.best_validation) best = std::move(state);
  }
  Network network(estimator_options(config, feature_count(problem.data.features),
                                    objective.outputs(), problem.graph),
                  config.seed);
  load_state(network, best.best);
  Scores scores = estimate_scores(network, problem.graph, problem.transposed, problem.data.features,
                                  best.best_temperature);
  save_scores(scores_file, scores, problem.fingerprint);
  return {best.best_validation, best.best_test};
}

}  // namespace spex
