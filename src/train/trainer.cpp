#include <spex/core/error.h>
#include <spex/core/stopwatch.h>
#include <spex/train/trainer.h>

#include <cmath>
#include <limits>

namespace spex {
namespace {

std::vector<float> values_of(const Matrix& matrix) {
  return {matrix.span().begin(), matrix.span().end()};
}

void assign(std::span<float> out, const NetworkState& state, const std::string& name) {
  auto found = state.find(name);
  require(found != state.end(), "the saved network lacks {}", name);
  require(found->second.size() == out.size(), "the saved network has {} numbers for {}, not {}",
          found->second.size(), name, out.size());
  std::copy(found->second.begin(), found->second.end(), out.begin());
}

}  // namespace

NetworkState save_state(const Network& network) {
  NetworkState state;
  for (const Parameter& parameter : network.parameters())
    state[parameter.name] = values_of(parameter.value);
  for (const auto& [name, statistics] : network.statistics()) {
    state[name + ".running_mean"] = statistics.mean;
    state[name + ".running_variance"] = statistics.variance;
  }
  return state;
}

void load_state(Network& network, const NetworkState& state) {
  for (Parameter& parameter : network.parameters())
    assign(parameter.value.span(), state, parameter.name);
  for (auto& [name, statistics] : network.statistics()) {
    assign(statistics.mean, state, name + ".running_mean");
    assign(statistics.variance, state, name + ".running_variance");
  }
}

Trainer::Trainer(RunnerContext context, Runner& runner, TrainerOptions options)
    : c_(context), runner_(runner), options_(std::move(options)) {
  evaluated_.assign(c_.split.validation.begin(), c_.split.validation.end());
}

EpochSettings Trainer::settings(size_t epoch) const {
  CosineSchedule schedule{options_.optimiser.learning_rate, options_.optimiser.warmup,
                          options_.optimiser.epochs};
  double temperature = options_.anneal ? options_.temperature.at(epoch) : 1.0;
  return {epoch, schedule.rate(epoch), static_cast<float>(temperature)};
}

// Parameters, moments and counters, as they stand between two epochs.
void Trainer::capture(TrainState& state) const {
  state.network = save_state(c_.network);
  size_t i = 0;
  for (const Parameter& parameter : c_.network.parameters()) {
    state.first_moment[parameter.name] = values_of(c_.optimiser.first_moment(i));
    state.second_moment[parameter.name] = values_of(c_.optimiser.second_moment(i));
    ++i;
  }
  state.optimiser_steps = c_.optimiser.steps();
}

void Trainer::restore(const TrainState& state) {
  load_state(c_.network, state.network);
  size_t i = 0;
  for (const Parameter& parameter : c_.network.parameters()) {
    assign(c_.optimiser.first_moment(i).span(), state.first_moment, parameter.name);
    assign(c_.optimiser.second_moment(i).span(), state.second_moment, parameter.name);
    ++i;
  }
  c_.optimiser.steps() = state.optimiser_steps;
}

// Where one pass gives all nodes, test and train come with validation; otherwise test waits for the
// best epoch.
void Trainer::evaluate(const EpochSettings& settings, EpochRecord& record, TrainState& state) {
  Matrix logits = runner_.evaluate(settings, evaluated_);
  record.validation = c_.objective.score(logits, c_.split.validation.span());
  if (runner_.evaluates_all()) {
    record.train = c_.objective.score(logits, c_.split.train.span());
    record.test = c_.objective.score(logits, c_.split.test.span());
  }
  if (!(record.validation > state.best_validation)) return;
  state.best_validation = record.validation;
  state.best_test = record.test;
  state.best_epoch = record.epoch;
  state.best_temperature = settings.temperature;
  state.best = save_state(c_.network);
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
        options_.phase, epoch + 1, options_.optimiser.epochs,
        stage.empty() ? "" : ", first in " + stage, options_.phase,
        options_.optimiser.learning_rate);
  }
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  EpochRecord record;
  record.phase = options_.phase;
  record.seed = options_.seed;
  record.epoch = epoch;
  record.train_loss = trained.loss;
  record.train = record.validation = record.test = kNone;
  record.learning_rate = now.learning_rate;
  record.temperature = now.temperature;
  record.sample_seconds = trained.sample_seconds;
  bool last = epoch + 1 == options_.optimiser.epochs;
  if (last || (epoch + 1) % options_.evaluate_every == 0) evaluate(now, record, state);
  record.seconds = watch.seconds();
  record.peak_bytes = memory_use().peak;
  return record;
}

bool Trainer::run(TrainState& state, const TrainerHooks& hooks) {
  if (state.next_epoch > 0) restore(state);
  size_t epochs = options_.optimiser.epochs;
  while (state.next_epoch < epochs) {
    size_t epoch = state.next_epoch;
    EpochRecord record = run_epoch(epoch, state);
    state.next_epoch = epoch + 1;
    if (hooks.on_epoch) hooks.on_epoch(record);
    bool stopping = hooks.stop && hooks.stop();
    bool wanted = hooks.wants_checkpoint && hooks.wants_checkpoint(epoch);
    if (hooks.checkpoint && (stopping || wanted || state.next_epoch == epochs)) {
      capture(state);
      hooks.checkpoint(state);
    }
    if (stopping && state.next_epoch < epochs) return false;
  }
  require(!state.best.empty(), "the {} network has no best epoch: {}", options_.phase,
          epochs == 0 ? "it was given no epochs"
                      : "the metric cannot be computed on the validation nodes (do they have both "
                        "classes?)");
  load_state(c_.network, state.best);
  if (!runner_.evaluates_all()) {
    std::vector<NodeId> test(c_.split.test.begin(), c_.split.test.end());
    Matrix logits = runner_.evaluate(settings(state.best_epoch), test);
    state.best_test = c_.objective.score(logits, test);
  }
  return true;
}

}  // namespace spex
