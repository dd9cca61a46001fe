#include "run/trial_units.h"

#include <spex/core/error.h>
#include <spex/core/log.h>
#include <spex/core/random.h>
#include <spex/core/safetensors.h>
#include <spex/core/stopwatch.h>
#include <spex/core/threads.h>
#include <spex/run/checkpoint.h>
#include <spex/run/networks.h>
#include <spex/run/phases.h>

#include <algorithm>
#include <cmath>

namespace spex {
namespace {

constexpr size_t kSmallNodes = 30'000;
constexpr size_t kSmallEdges = 1'000'000;
constexpr uint32_t kResampleLayer = 0x4e5;  // that no split uses

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

// As often as each of these nodes comes in a sample of as many with replacement, nearly: by Poisson's
// law, for each node on its own.
std::vector<NodeId> resample(std::span<const NodeId> nodes, size_t number) {
  Random random(number, Purpose::split, 0, kResampleLayer);
  std::vector<NodeId> drawn;
  for (NodeId node : nodes) {
    double left = random.uniform(node), share = std::exp(-1.0);
    for (double times = 1; left > share; share /= times++) {
      left -= share;
      drawn.push_back(node);
    }
  }
  return drawn;
}

}  // namespace

TrialUnits::TrialUnits(const Dataset& data)
    : trials_(data),
      side_by_side_(data.nodes() <= kSmallNodes && data.graph.edges() <= kSmallEdges) {}

void TrialUnits::fail(TrialUnit& unit, const char* why) {
  std::lock_guard lock(telling_);
  log("a trial failed: {}", why);
  if (unit.leaves == TrialUnit::logits) save_logits(unit.file, {});
  unit.done = true;
}

void TrialUnits::prepare(TrialUnit& unit, const Stop& stop) try {
  unit.problem = trials_.problem(unit.config, stop, unit.division);
} catch (const Error& error) {
  if (!unit.may_fail) throw;
  fail(unit, error.what());
}

Split TrialUnits::judging_split(const TrialUnit& unit) const {
  if (unit.division.judges == Division::none) return choose_split(data(), unit.config.split);
  Split split = trials_.split(unit.config.split, unit.division);
  if (split.test.empty()) split.test = split.validation;  // halves do not give the metric
  return split;
}

Matrix TrialUnits::predict(const TrialUnit& unit, const TrainState& state,
                           std::span<const NodeId> nodes) const {
  const Phase& phase = unit.config.final();
  std::unique_ptr<Model> model = phase.model->make(shape_of(*unit.problem, unit.config), unit.seed);
  load_state(*model, state.best);
  return predict_logits(phase, *model, *unit.problem, unit.seed, state.best_epoch,
                        state.best_temperature, nodes, phase.recipe.batch_size);
}

bool TrialUnits::leave_logits(TrialUnit& unit, const Stop& stop) {
  const Split& split = unit.problem->split;
  std::array<TrainState, 2> halves;
  bool both =
      !split.test.empty() && !unit.other_file.empty() && steps_are_of_both_halves(unit.config);
  bool done =
      both ? train_for_both_halves(*unit.problem, unit.config, unit.seed, halves, stop)
           : continue_trial(*unit.problem, unit.config, unit.seed, unit.epochs, halves[0], stop);
  if (!done) return false;
  save_logits(unit.file, predict(unit, halves[0], judging_split(unit).test.span()));
  if (!halves[1].best.empty())
    save_logits(unit.other_file, predict(unit, halves[1], split.validation.span()));
  return true;
}

bool TrialUnits::leave_state(TrialUnit& unit, const Stop& stop) {
  TrainState state;
  if (auto checkpoint = load_checkpoint(unit.file)) state = std::move(checkpoint->state);
  if (!continue_trial(*unit.problem, unit.config, unit.seed, unit.epochs, state, stop))
    return false;
  unit.validation = state.best_validation;
  save_checkpoint(unit.file, {unit.config.model, unit.seed, std::move(state)});
  return true;
}

void TrialUnits::train(TrialUnit& unit, const Stop& stop) try {
  Stopwatch watch;
  unit.done = unit.leaves == TrialUnit::logits ? leave_logits(unit, stop) : leave_state(unit, stop);
  unit.seconds = watch.seconds();
} catch (const Error& error) {
  if (!unit.may_fail) throw;
  fail(unit, error.what());
}

// Graphs and scores are made first, with all threads. What has left its logits is done, even where
// time is over.
void TrialUnits::train(std::vector<TrialUnit>& units, const Stop& stop,
                       const std::function<void()>& on_done) {
  for (TrialUnit& unit : units) {
    unit.done = unit.leaves == TrialUnit::logits && std::filesystem::exists(unit.file);
    if (!unit.done && !stop()) prepare(unit, stop);
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

Judged TrialUnits::judge(std::span<const TrialUnit> units, size_t resamples) const {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const TrialUnit& first = units.front();
  Split split = judging_split(first);
  std::span<const NodeId> nodes = split.test.span();
  LogitAverage average(data().labels.task);
  for (const TrialUnit& unit : units) {
    Matrix logits = load_logits(unit.file);
    if (logits.rows() != nodes.size()) return {none, std::vector<double>(resamples, none)};
    average.add(std::move(logits));
  }
  Objective objective(data().labels, first.config.split.metric,
                      target_scaling(data().labels, split, first.config.features));
  Matrix logits = placed(average.take(), nodes, data().nodes());
  Judged judged{objective.score(logits, nodes), std::vector<double>(resamples)};
  parallel_blocks(resamples, [&](size_t i) {
    judged.resampled[i] = objective.score(logits, resample(nodes, i));
  });
  return judged;
}

}  // namespace spex
