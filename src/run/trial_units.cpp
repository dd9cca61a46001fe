#include "run/trial_units.h"

#include <spex/core/error.h>
#include <spex/core/log.h>
#include <spex/core/safetensors.h>
#include <spex/core/stopwatch.h>
#include <spex/core/threads.h>
#include <spex/run/checkpoint.h>
#include <spex/run/networks.h>
#include <spex/run/phases.h>

#include <algorithm>

namespace spex {
namespace {

constexpr size_t kSmallNodes = 30'000;
constexpr size_t kSmallEdges = 1'000'000;

void save_logits(const std::filesystem::path& file, const Matrix& logits) {
  TensorSource source = tensor("logits", logits.span(), {logits.rows(), logits.cols()});
  write_safetensors(file, std::span(&source, 1));
}

Matrix load_logits(const std::filesystem::path& path) {
  auto file = Safetensors::open(path);
  const std::vector<size_t>& shape = file.info("logits").shape;
  Matrix logits(shape.at(0), shape.at(1), MemoryTag::activations);
  std::ranges::copy(file.array<float>("logits"), logits.span().begin());
  return logits;
}

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

SharedArray<NodeId> TrialUnits::judges(const TrialUnit& unit) const {
  if (unit.division.judges == Division::none) return choose_split(data(), unit.config.split).test;
  const Split& split = unit.problem->split;
  return split.test.empty() ? split.validation : split.test;  // halves may not give the metric
}

Matrix TrialUnits::predict(const TrialUnit& unit, const TrainState& state) const {
  const Phase& phase = unit.config.final();
  std::unique_ptr<Model> model =
      phase.model->make(shape_of(*unit.problem, unit.config), unit.seed);
  load_state(*model, state.best);
  return predict_logits(phase, *model, *unit.problem, unit.seed, state.best_epoch,
                        state.best_temperature, judges(unit).span(), phase.recipe.batch_size);
}

void TrialUnits::train(TrialUnit& unit, const Stop& stop) {
  Stopwatch watch;
  TrainState state;
  bool judged = unit.leaves == TrialUnit::logits;
  if (auto checkpoint = judged ? std::nullopt : load_checkpoint(unit.file))
    state = std::move(checkpoint->state);
  try {
    unit.done = continue_trial(*unit.problem, unit.config, unit.seed, unit.epochs, state, stop);
  } catch (const Error& error) {
    if (!unit.may_fail) throw;
    std::lock_guard lock(telling_);
    log("a trial failed: {}", error.what());
    unit.done = true;
    return;
  }
  unit.seconds = watch.seconds();
  if (!unit.done) return;
  if (judged) {
    save_logits(unit.file, predict(unit, state));
    return;
  }
  unit.validation = state.best_validation;
  save_checkpoint(unit.file, {unit.config.model, unit.seed, std::move(state)});
}

// Graphs and scores are made first, with all threads. What has left its logits is done, even where
// time is over.
void TrialUnits::train(std::vector<TrialUnit>& units, const Stop& stop,
                       const std::function<void()>& on_done) {
  for (TrialUnit& unit : units) {
    bool known = unit.leaves == TrialUnit::logits && std::filesystem::exists(unit.file);
    if (known || !stop()) prepare(unit, known ? Stop() : stop);
    unit.done = unit.done || known;
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

double TrialUnits::judge(std::span<const TrialUnit> units) {
  SharedArray<NodeId> nodes = judges(units.front());
  LogitAverage average(data().labels.task);
  for (const TrialUnit& unit : units) {
    if (!std::filesystem::exists(unit.file)) return std::numeric_limits<double>::quiet_NaN();
    average.add(load_logits(unit.file));
  }
  const TrialUnit& first = units.front();
  Objective objective(data().labels, first.config.split.metric,
                      first.problem->preparation.targets);
  return objective.score(placed(average.take(), nodes.span(), data().nodes()), nodes.span());
}

}  // namespace spex
