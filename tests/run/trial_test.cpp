// Trainings that are judged on validation nodes alone.
#include <spex/core/files.h>
#include <spex/run/trial.h>

#include <cmath>
#include <set>
#include <sstream>

#include "run/support.h"
#include "run/trial_units.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

TEST(Trials, ATrainingThatPausedReachesWhatAWholeOneReaches) {
  Config config = quick_config();
  Trials trials(small_mines(12));
  std::shared_ptr<const Problem> problem = trials.problem(config);
  EXPECT_TRUE(problem->split.test.empty());
  EXPECT_EQ(problem.get(), trials.problem(config).get()) << "the scores are shared";
  Config wider = config;
  final_options(wider).width = 16;
  EXPECT_EQ(problem.get(), trials.problem(wider).get()) << "whatever draws by them";
  Config other = config;
  apply_setting(other, "estimator.width=3");
  EXPECT_NE(problem.get(), trials.problem(other).get()) << "other scores";
  other = config;
  other.seed = 1;
  EXPECT_NE(problem.get(), trials.problem(other).get()) << "other scores";
  other = config;
  other.expander.degree = 4;
  EXPECT_LT(trials.problem(other)->attention.edges(), problem->attention.edges());
  std::shared_ptr<const Problem> fold = trials.problem(config, {}, {1, Division::none});
  EXPECT_FALSE(std::ranges::equal(fold->split.validation, problem->split.validation));
  EXPECT_TRUE(fold->split.test.empty());
  other = config;
  other.split.ratio = "50/25/25";
  EXPECT_NE(trials.problem(other)->split.train.size(), problem->split.train.size());
  TrainState whole, paused;
  ASSERT_TRUE(continue_trial(*problem, config, 3, 6, whole));
  ASSERT_TRUE(continue_trial(*problem, config, 3, 2, paused));
  EXPECT_EQ(paused.next_epoch, 2U);
  ASSERT_TRUE(continue_trial(*problem, config, 3, 6, paused));
  EXPECT_EQ(paused.next_epoch, 6U);
  EXPECT_EQ(whole.best_validation, paused.best_validation);
  EXPECT_EQ(whole.model, paused.model);
}

TEST(Trials, InBatchesTheOtherHalfIsEvaluatedInTheEnd) {
  Config config("mlp");
  config.final().recipe.epochs = 6;
  config.final().recipe.batch_size = 20;
  Trials trials(small_mines(12));
  for (auto judges : {Division::none, Division::first_half}) {
    std::shared_ptr<const Problem> problem = trials.problem(config, {}, {0, judges});
    TrainState state;
    ASSERT_TRUE(continue_trial(*problem, config, 3, 6, state));
    EXPECT_EQ(std::isnan(state.best_test), judges == Division::none);
  }
}

TEST(Trials, HalvesOfTheValidationNodesJudgeEachOther) {
  Trials trials(small_mines(12));
  Config config = Config("mlp");
  std::shared_ptr<const Problem> whole = trials.problem(config),
                                 second = trials.problem(config, {}, {0, Division::second_half}),
                                 first = trials.problem(config, {}, {0, Division::first_half});
  EXPECT_TRUE(std::ranges::equal(second->split.train, whole->split.train));
  EXPECT_TRUE(std::ranges::equal(first->split.train, whole->split.train));
  std::set<NodeId> nodes(second->split.validation.begin(), second->split.validation.end());
  for (NodeId node : second->split.test) EXPECT_TRUE(nodes.insert(node).second);
  EXPECT_TRUE(std::ranges::equal(nodes, whole->split.validation));
  EXPECT_LE(second->split.validation.size() - second->split.test.size(), 1U);
  EXPECT_TRUE(std::ranges::equal(first->split.test, second->split.validation));
  EXPECT_TRUE(std::ranges::equal(first->split.validation, second->split.test));
}

// One training leaves what two would, each of which ends by its own half's patience.
TEST(TrialUnits, OneTrainingServesBothHalves) {
  TemporaryFolder folder;
  Dataset data = small_mines(20);
  auto never = [] { return false; };
  for (const char* setting :
       {"gcn.patience=0", "mlp.patience=1", "mlp.patience=2", "mlp.patience=4",
        "mlp.patience=1 mlp.learning_rate=0.1", "mlp.patience=2 mlp.learning_rate=0.05",
        "mlp.patience=3 mlp.width=16", "mlp.patience=1 mlp.evaluate_every=3",
        "mlp.patience=2 mlp.evaluate_every=2", "gcn.batch_size=50", "gcn.class_weights=validation",
        "mlp.batch_size=50"}) {
    std::istringstream words(setting);
    Config config(std::string(setting).substr(0, 3));
    config.final().recipe.epochs = 60;
    for (std::string word; words >> word;) apply_setting(config, word);
    auto unit_for = [&](Division::Judges judges, const char* name, const char* other) {
      TrialUnit unit;
      unit.config = config;
      unit.epochs = 60;
      unit.division = {0, judges};
      unit.leaves = TrialUnit::logits;
      unit.file = folder / name;
      if (*other) unit.other_file = folder / other;
      return unit;
    };
    TrialUnits together(data), apart(data);
    std::vector<TrialUnit> one = {unit_for(Division::second_half, "second", "first")},
                           two = {unit_for(Division::second_half, "own-second", ""),
                                  unit_for(Division::first_half, "own-first", "")};
    together.train(one, never, [] {});
    // Shares are of the half that chooses; rows in batches are evaluated where they choose.
    bool alike = config.final().recipe.class_weights == ClassWeights::none &&
                 (config.model != "mlp" || config.final().recipe.batch_size == 0);
    EXPECT_EQ(std::filesystem::exists(folder / "first"), alike) << setting;
    apart.train(two, never, [] {});
    EXPECT_EQ(read_text(folder / "second"), read_text(folder / "own-second")) << setting;
    if (alike) {
      EXPECT_EQ(read_text(folder / "first"), read_text(folder / "own-first")) << setting;
    }
    for (const char* name : {"first", "second", "own-first", "own-second"})
      std::filesystem::remove(folder / name);
  }
}

TEST(Trials, ValidationNodesWhoseHalvesGiveNoMetricStayWhole) {
  Dataset data = small_mines(12);
  Split& split = data.splits.front();
  std::vector<NodeId> one_mine;
  bool mine = false;
  for (NodeId node : split.validation) {
    bool here = data.labels.classes[node] == 1;
    if (!here || !mine) one_mine.push_back(node);
    mine = mine || here;
  }
  Buffer<NodeId> kept(one_mine.size(), MemoryTag::other);
  std::copy(one_mine.begin(), one_mine.end(), kept.begin());
  split.validation = std::move(kept);
  std::shared_ptr<const Problem> problem =
      Trials(std::move(data)).problem(Config("mlp"), {}, {0, Division::second_half});
  EXPECT_EQ(problem->split.validation.size(), one_mine.size());
  EXPECT_TRUE(problem->split.test.empty());
}

// A network that failed is known to have failed when a search goes on.
TEST(TrialUnits, JudgeTheAverageAndWhatFailedNot) {
  TemporaryFolder folder;
  Dataset data = small_mines(30);
  TrialUnits units(data);
  std::vector<TrialUnit> two(2);
  for (size_t seed = 0; seed < 2; ++seed) {
    TrialUnit& unit = two[seed];
    unit.config = Config("mlp");
    unit.seed = seed;
    unit.epochs = unit.config.final().recipe.epochs = 4;
    unit.division = {0, Division::second_half};
    unit.leaves = TrialUnit::logits;
    unit.file = folder / std::to_string(seed);
  }
  auto never = [] { return false; };
  units.train(two, never, [] {});
  Judged judged = units.judge(two, 200);
  EXPECT_NE(judged.score, units.judge({two.data(), 1}).score);
  ASSERT_EQ(judged.resampled.size(), 200U);
  double mean = 0, deviation = 0;
  for (double each : judged.resampled) mean += each / 200;
  for (double each : judged.resampled) deviation += std::pow(each - mean, 2) / 199;
  EXPECT_NEAR(mean, judged.score, 0.05);
  EXPECT_GT(std::sqrt(deviation), 0.01) << "a few nodes";
  EXPECT_LT(std::sqrt(deviation), 0.2);

  std::filesystem::remove(two[1].file);
  two[1].config.final().recipe.learning_rate = 1e30;
  for (TrialUnit& unit : two) unit.done = false;
  units.train(two, never, [] {});
  EXPECT_TRUE(two[1].done);
  EXPECT_TRUE(std::isnan(units.judge(two).score));
  EXPECT_TRUE(std::isfinite(units.judge({two.data(), 1}).score));
  two[1].done = false;
  units.train(
      two, [] { return true; }, [] {});
  EXPECT_TRUE(two[1].done) << "it left a mark";
}

}  // namespace
}  // namespace spex
