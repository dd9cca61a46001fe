#include "run/edgeless.h"

#include <spex/run/phases.h>

#include <algorithm>
#include <limits>

namespace spex {
namespace {

constexpr size_t kMostNodes = 200'000;
constexpr size_t kSteps = 200;
constexpr size_t kEvaluations = 20;
constexpr size_t kFewestEpochs = 10;
constexpr size_t kBatchNumbers = 1'000'000;  // of features: so that no memory limit feels it

}  // namespace

double edgeless_score(const Problem& problem, const Config& config) {
  Needs needs = needs_of(config);
  bool edgeless = !needs.attention && !needs.local && needs.ball.empty();
  if (edgeless || needs.hops > 0 || problem.data.nodes() > kMostNodes)
    return std::numeric_limits<double>::quiet_NaN();
  Phase phase = Config("mlp").final();
  size_t features = std::max<size_t>(1, feature_count(problem.data.features));
  phase.recipe.batch_size = std::clamp<size_t>(kBatchNumbers / features, 50, 1000);
  size_t batches = 1 + (problem.split.train.size() - 1) / phase.recipe.batch_size;
  phase.recipe.epochs =
      std::min(std::max(kFewestEpochs, kSteps / batches), config.final().recipe.epochs);
  phase.recipe.evaluate_every = std::max<size_t>(1, phase.recipe.epochs / kEvaluations);
  std::unique_ptr<Model> model = phase.model->make(shape_of(problem, config), config.seed);
  TrainState state;
  Problem bare;  // no attention graph, no scores
  bare.data = problem.data;
  bare.split = problem.split;
  bare.preparation = problem.preparation;
  train_phase(phase, *model, bare, config, config.seed, state, {});
  return state.best_test;
}

}  // namespace spex
