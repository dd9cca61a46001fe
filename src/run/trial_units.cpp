#include "run/trial_units.h"

#include <spex/core/error.h>
#include <spex/core/log.h>
#include <spex/core/stopwatch.h>
#include <spex/core/threads.h>
#include <spex/run/checkpoint.h>
#include <spex/run/networks.h>
#include <spex/run/phases.h>

namespace spex {
namespace {

constexpr size_t kSmallNodes = 30'000;
constexpr size_t kSmallEdges = 1'000'000;

}  // namespace

TrialUnits::TrialUnits(const Dataset& data)
    : trials_(data),
      side_by_side_(data.nodes() <= kSmallNodes && data.graph.edges() <= kSmallEdges) {}

void TrialUnits::prepare(TrialUnit& unit, const Stop& stop) try {
  unit.problem = trials_.problem(unit.config, stop, unit.division);
} catch (const Error& error) {
  if (!unit.may_fail) throw;
  log("a trial failed: {}", error.what());
  unit.done = true;
}

void TrialUnits::train(TrialUnit& unit, const Stop& stop) {
  Stopwatch watch;
  TrainState state;
  HalvesJudge judge;
  bool halved = unit.division.halved;  // then every epoch must be seen
  if (auto checkpoint = halved ? std::nullopt : load_checkpoint(unit.file))
    state = std::move(checkpoint->state);
  try {
    unit.done =
        continue_trial(*unit.problem, unit.config, unit.seed, unit.epochs, state, stop, &judge);
  } catch (const Error& error) {
    if (!unit.may_fail) throw;
    std::lock_guard lock(telling_);
    log("a trial failed: {}", error.what());
    unit.done = true;
    return;
  }
  unit.seconds = watch.seconds();
  if (!unit.done) return;
  unit.validation = halved ? judge.score(state) : state.best_validation;
  if (!halved) save_checkpoint(unit.file, {unit.config.model, unit.seed, std::move(state)});
}

// Graphs and scores are made first, with all threads.
void TrialUnits::train(std::vector<TrialUnit>& units, const Stop& stop,
                       const std::function<void()>& on_done) {
  for (TrialUnit& unit : units) {
    if (stop()) return;
    prepare(unit, stop);
  }
  auto train_one = [&](size_t i) {
    if (stop() || units[i].done || !units[i].problem) return;
    train(units[i], stop);
    std::lock_guard lock(telling_);
    on_done();
  };
  if (side_by_side_)
    parallel_blocks(units.size(), train_one);
  else
    for (size_t i = 0; i < units.size(); ++i) train_one(i);
}

double TrialUnits::test(std::span<const TrialUnit> units) {
  const Config& config = units.front().config;
  const Phase& phase = config.final();
  std::shared_ptr<const Problem> problem = trials_.problem(config);
  Split split = choose_split(data(), config.split);
  LogitAverage average(data().labels.task);
  for (const TrialUnit& unit : units) {
    std::optional<Checkpoint> trained = load_checkpoint(unit.file);
    require(trained.has_value(), "{} is gone; give another --out", unit.file.string());
    const TrainState& state = trained->state;
    std::unique_ptr<Model> model = phase.model->make(shape_of(*problem, config), unit.seed);
    load_state(*model, state.best);
    average.add(predict_logits(phase, *model, *problem, unit.seed, state.best_epoch,
                               state.best_temperature, split.test.span(), phase.recipe.batch_size));
  }
  Matrix logits = placed(average.take(), split.test.span(), data().nodes());
  Objective objective(data().labels, config.split.metric, problem->preparation.targets);
  return objective.score(logits, split.test.span());
}

}  // namespace spex
