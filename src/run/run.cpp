#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/log.h>
#include <spex/core/stopwatch.h>
#include <spex/core/threads.h>
#include <spex/run/model_file.h>
#include <spex/run/phases.h>
#include <spex/run/run.h>
#include <spex/run/run_lock.h>

#include <cmath>

#include "run/run_folder.h"
#include "run/run_results.h"
#include "run/run_summary.h"

namespace spex {
namespace {

namespace fs = std::filesystem;

class TrainingRun {
 public:
  TrainingRun(Problem problem, const Config& config, const RunOptions& options,
              const RunHooks& hooks)
      : problem_(std::move(problem)),
        config_(config),
        options_(options),
        hooks_(hooks),
        files_{options.out},
        shape_(shape_of(problem_, config)),
        networks_(network_phases(config_)),
        folder_(files_, config_) {
    if (config_.threads == 0) config_.threads = static_cast<size_t>(threads());
  }

  RunResult run() {
    check_request();
    make_folder();
    RunLock lock(files_.lock());
    folder_.open(problem_, options_);
    if (hooks_.on_start) hooks_.on_start();
    if (fs::exists(files_.summary())) return finished_before();
    if (!obtain_scores() || !train_seeds()) return {};
    RunRecord record = run_results({problem_, config_, options_, files_, folder_.records()});
    remove_intermediate();
    return {true, std::move(record)};
  }

 private:
  // What can be refused is refused before the folder is touched.
  void check_request() {
    require(!options_.resume || fs::exists(files_.config()),
            "{} holds no run to resume; leave --resume out to start one", files_.folder.string());
    check(config_);
    for (const Phase* phase : phases_to_train(config_, !options_.scores.empty()))
      phase->model->make(shape_, config_.seed);
    for (const Phase& phase : networks_) phase.model->make(shape_, config_.seed);
    check_validation();
    if (options_.scores.empty()) return;
    require(config_.final().model->needs().scores, "{} draws by no scores; leave --scores out",
            config_.model);
    problem_.scores = load_scores(options_.scores, problem_.attention, problem_.fingerprint);
  }

  // The metric that chooses the best epoch must exist on the validation nodes.
  void check_validation() const {
    Objective objective(problem_.data.labels, config_.split.metric, problem_.preparation.targets);
    Matrix zeros =
        Matrix::zeros(problem_.data.nodes(), objective.outputs(), MemoryTag::activations);
    double score = objective.score(zeros, problem_.split.validation.span());
    require(!std::isnan(score),
            "{} cannot be computed on the validation nodes: their labels are all alike",
            name(objective.metric()));
  }

  // The summary is the last file of a run, so nothing is left to do but the report.
  RunResult finished_before() {
    remove_intermediate();
    return {true, load_record(files_.folder)};
  }

  void remove_intermediate() const {
    fs::remove(files_.checkpoint());
    for (const fs::path& file : network_files(files_, config_)) fs::remove(file);
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

  // Networks of a training may take the settings of variants in turn.
  const Phase& phase_of(const Phase& phase, size_t seed) const {
    bool last = phase.name == config_.final().name;
    return last ? networks_[turn_of(seed, config_, networks_)] : phase;
  }

  // Trains networks of a phase with consecutive seeds and keeps the best. False if it was told to
  // stop. Tries of a scorer are for the best alone, and end when none can be better.
  bool train(const Phase& all, size_t first, size_t networks, const fs::path& file) {
    for (size_t seed = first; seed < first + networks; ++seed) {
      const Phase& phase = phase_of(all, seed);
      bool is_try = phase.name != config_.final().name && seed > first;
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

  Problem problem_;
  Config config_;
  RunOptions options_;
  RunHooks hooks_;
  RunFiles files_;
  Shape shape_;
  std::vector<Phase> networks_;  // that seeds of the last phase take in turn
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
