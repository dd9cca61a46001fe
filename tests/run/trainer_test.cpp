// When the trainer evaluates and when it stops, as metrics.csv shows it; and which nodes it is given.
#include <spex/run/phases.h>

#include <cmath>

#include "run/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

std::vector<EpochRecord> last_phase(const Config& config) {
  TemporaryFolder folder;
  std::vector<EpochRecord> rows = run(config, folder / "run", {}, {}, 12).record.epochs;
  std::erase_if(rows, [&](const EpochRecord& row) { return row.phase != config.model; });
  return rows;
}

TEST(Trainer, EvaluatesEverySoManyEpochsAndInTheLast) {
  Config config = quick_config();
  config.final().recipe.epochs = 11;
  config.final().recipe.evaluate_every = 4;
  std::vector<size_t> evaluated;
  for (const EpochRecord& row : last_phase(config))
    if (!std::isnan(row.validation)) evaluated.push_back(row.epoch);
  EXPECT_EQ(evaluated, (std::vector<size_t>{3, 7, 10}));
}

TEST(Trainer, StopsAfterSoManyEvaluationsWithoutABetterOne) {
  Config config = quick_config();
  config.final().recipe.epochs = 200;
  config.final().recipe.patience = 3;
  config.final().recipe.learning_rate = 0.05;
  auto rows = last_phase(config);
  ASSERT_LT(rows.size(), 200U);
  size_t best = 0;
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].validation > rows[best].validation) best = i;
  EXPECT_EQ(rows.size() - 1 - best, 3U);
}

// Half of the training nodes are mines and a fifth of all others: who has learned the former takes
// too many cells for mines.
TEST(Trainer, AdaptedClassesAreAsFrequentAsAmongValidationNodes) {
  Dataset data = small_mines(40);
  auto last_validation = [&](ClassWeights weights) {
    Config config("mlp");
    config.threads = 2;
    config.split.counts = "100/400/400";
    config.split.metric = Metric::accuracy;
    config.final().recipe.class_weights = weights;
    config.final().recipe.epochs = 100;
    Problem problem = make_problem(data, config);
    auto model = config.final().model->make(shape_of(problem, config), 0);
    double last = 0;
    TrainerHooks hooks;
    hooks.on_epoch = [&](const EpochRecord& record) { last = record.validation; };
    TrainState state;
    train_phase(config.final(), *model, problem, config, 0, state, hooks);
    return last;
  };
  EXPECT_GT(last_validation(ClassWeights::validation), last_validation(ClassWeights::none) + 0.05);
}

TEST(SplitOfAProblem, LeavesOutNodesWithoutALabel) {
  Dataset data = small_mines(12);
  Buffer<int32_t> classes(data.nodes(), MemoryTag::other);
  std::copy(data.labels.classes.begin(), data.labels.classes.end(), classes.begin());
  const Split stored = data.splits.front();
  classes[stored.train[0]] = classes[stored.validation[0]] = classes[stored.test[0]] = -1;
  data.labels.classes = std::move(classes);
  Split split = choose_split(data, {});
  EXPECT_EQ(split.train.size(), stored.train.size() - 1);
  EXPECT_EQ(split.validation.size(), stored.validation.size() - 1);
  EXPECT_EQ(split.test.size(), stored.test.size() - 1);
  EXPECT_NE(split.train[0], stored.train[0]);
}

}  // namespace
}  // namespace spex
