#include <spex/core/error.h>
#include <spex/core/stopwatch.h>
#include <spex/train/schedule.h>
#include <spex/train/trainer.h>

#include <cmath>
#include <limits>

namespace spex {
namespace {

std::vector<float> values_of(const Matrix& matrix) {
  return {matrix.span().begin(), matrix.span().end()};
}

void assign(std::span<float> out, const ModelState& state, const std::string& name) {
  auto found = state.find(name);
  require(found != state.end(), "the saved model lacks {}", name);
  require(found->second.size() == out.size(), "the saved model has {} numbers for {}, not {}",
          found->second.size(), name, out.size());
  std::copy(found->second.begin(), found->second.end(), out.begin());
}

}  // namespace

ModelState save_state(const Model& model) {
  ModelState state;
  for (const Parameter& parameter : model.parameters())
    state[parameter.name] = values_of(parameter.value);
  for (const auto& [name, values] : model.state()) state[name].assign(values.begin(), values.end());
  return state;
}

void load_state(Model& model, const ModelState& state) {
  for (Parameter& parameter : model.parameters())
    assign(parameter.value.span(), state, parameter.name);
  for (const auto& [name, values] : model.state()) assign(values, state, name);
}

void keep_if_best(TrainState& state, double score, const EpochRecord& record, const Model& model) {
  auto temperature = static_cast<float>(record.temperature);
  bool as_good = temperature < state.best_temperature && score == state.best_validation;
  if (!(score > state.best_validation) && !as_good) return;
  state.best_validation = score;
  state.best_test = record.test;
  state.best_epoch = record.epoch;
  state.best_temperature = temperature;
  state.best = save_state(model);
}

Trainer::Trainer(const Phase& phase, const Split& split, Training training)
    : phase_(phase),
      split_(split),
      t_(training),
      runner_(training),
      restart_epoch_(phase.model->needs().restart_epoch) {}

EpochSettings Trainer::settings(size_t epoch) const {
  return {epoch, learning_rate(phase_.recipe, epoch),
          static_cast<float>(phase_.model->temperature(epoch))};
}

// Parameters, moments and counters, as they stand between two epochs.
void Trainer::capture(TrainState& state) const {
  state.model = save_state(t_.model);
  size_t i = 0;
  for (const Parameter& parameter : t_.model.parameters()) {
    state.first_moment[parameter.name] = values_of(t_.optimiser.first_moment(i));
    state.second_moment[parameter.name] = values_of(t_.optimiser.second_moment(i));
    ++i;
  }
  state.optimiser_steps = t_.optimiser.steps();
}

void Trainer::restore(const TrainState& state) {
  load_state(t_.model, state.model);
  size_t i = 0;
  for (const Parameter& parameter : t_.model.parameters()) {
    assign(t_.optimiser.first_moment(i).span(), state.first_moment, parameter.name);
    assign(t_.optimiser.second_moment(i).span(), state.second_moment, parameter.name);
    ++i;
  }
  t_.optimiser.steps() = state.optimiser_steps;
}

// Where one pass gives all nodes, test and train come with validation; otherwise test waits for the
// best epoch.
void Trainer::evaluate(const EpochSettings& settings, EpochRecord& record, TrainState& state) {
  Matrix logits = runner_.evaluate(settings, split_.validation.span());
  record.validation = t_.objective.score(logits, split_.validation.span());
  if (t_.batches.evaluates_all()) {
    record.train = t_.objective.score(logits, split_.train.span());
    record.test = t_.objective.score(logits, split_.test.span());
  }
  keep_if_best(state, record.validation, record, t_.model);
}

EpochRecord Trainer::run_epoch(size_t epoch, TrainState& state) {
  Stopwatch watch;
  reset_memory_peaks();
  EpochSettings now = settings(epoch);
  TrainedEpoch trained = runner_.train(now);
  if (!std::isfinite(trained.loss)) {
    std::string stage = runner_.find_not_finite(now);
    fail(
        "the {} network's loss is no longer a number in epoch {} of {}{}; start again with a lower "
        "{}.learning_rate (now {}); the last checkpoint is kept",
        phase_.name, epoch + 1, phase_.recipe.epochs, stage.empty() ? "" : ", first in " + stage,
        phase_.name, phase_.recipe.learning_rate);
  }
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  EpochRecord record;
  record.phase = phase_.name;
  record.seed = t_.seed;
  record.epoch = epoch;
  record.train_loss = trained.loss;
  record.train = record.validation = record.test = kNone;
  record.learning_rate = now.learning_rate;
  record.temperature = now.temperature;
  record.sample_seconds = trained.sample_seconds;
  bool last = epoch + 1 == phase_.recipe.epochs;
  if (last || (epoch + 1) % phase_.recipe.evaluate_every == 0) evaluate(now, record, state);
  record.seconds = watch.seconds();
  record.peak_bytes = memory_use().peak;
  return record;
}

// All epochs are over, or too many evaluations have brought nothing better.
bool Trainer::done(const TrainState& state) const {
  const Recipe& recipe = phase_.recipe;
  if (state.next_epoch >= recipe.epochs) return true;
  if (recipe.patience == 0 || state.best.empty() || state.next_epoch <= restart_epoch_)
    return false;
  return (state.next_epoch - 1 - state.best_epoch) / recipe.evaluate_every >= recipe.patience;
}

// The best so far is where training goes on; what counts as best begins anew.
void Trainer::restart(TrainState& state) {
  if (state.best.empty()) return;
  load_state(t_.model, state.best);
  state.best.clear();
  state.best_validation = TrainState().best_validation;
}

bool Trainer::run(TrainState& state, const TrainerHooks& hooks) {
  if (state.next_epoch > 0) restore(state);
  while (!done(state)) {
    size_t epoch = state.next_epoch;
    if (restart_epoch_ > 0 && epoch == restart_epoch_) restart(state);
    EpochRecord record = run_epoch(epoch, state);
    state.next_epoch = epoch + 1;
    if (hooks.on_epoch) hooks.on_epoch(record);
    bool stopping = hooks.stop && hooks.stop();
    bool wanted = hooks.wants_checkpoint && hooks.wants_checkpoint(epoch);
    if (hooks.checkpoint && (stopping || wanted || done(state))) {
      capture(state);
      hooks.checkpoint(state);
    }
    if (stopping) return false;
  }
  require(!state.best.empty(),
          "the {} network has no best epoch: the metric cannot be computed on the validation nodes "
          "(do they have both classes?)",
          phase_.name);
  load_state(t_.model, state.best);
  if (!t_.batches.evaluates_all() && !split_.test.empty()) {
    Matrix logits = runner_.evaluate(settings(state.best_epoch), split_.test.span());
    state.best_test = t_.objective.score(logits, split_.test.span());
  }
  return true;
}

}  // namespace spex
