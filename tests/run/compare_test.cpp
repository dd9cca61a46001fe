#include <spex/core/files.h>
#include <spex/run/compare.h>

#include <cmath>
#include <memory>

#include "run/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

ComparedModel model_with(const std::string& name, const std::vector<double>& tests) {
  ComparedModel model;
  model.model = name;
  for (size_t i = 0; i < tests.size(); ++i) model.runs.push_back({i, 0, 0.5, tests[i]});
  return model;
}

TEST(Compare, MarksTheBestAndWhatPairedDifferencesCannotTellFromIt) {
  // The splits differ by far more than the models: only pairing sees that "below" is worse.
  std::vector<ComparedModel> models = {model_with("below", {0.50, 0.60, 0.70, 0.80}),
                                       model_with("best", {0.52, 0.62, 0.72, 0.82}),
                                       model_with("noisy", {0.60, 0.55, 0.80, 0.70})};
  mark_best(models);
  EXPECT_NEAR(models[1].mean, 0.67, 1e-12);
  EXPECT_NEAR(models[1].deviation, std::sqrt(0.05 / 3), 1e-12);
  EXPECT_TRUE(models[1].best);
  EXPECT_FALSE(models[0].best);
  EXPECT_FALSE(models[0].within_noise);
  EXPECT_TRUE(models[2].within_noise);
}

TEST(Compare, OneTrainingTellsNothingOfNoise) {
  std::vector<ComparedModel> models = {model_with("a", {0.5}), model_with("b", {0.5001})};
  mark_best(models);
  EXPECT_TRUE(models[1].best);
  EXPECT_FALSE(models[0].within_noise);
  models = {model_with("a", {0.5}), model_with("b", {0.5})};
  mark_best(models);
  EXPECT_FALSE(models[1].within_noise);
}

TEST(Compare, RunsOfOtherSeedsAreNotPaired) {
  std::vector<ComparedModel> models = {model_with("a", {0.50, 0.60}),
                                       model_with("b", {0.51, 0.60})};
  models[0].runs[1].seed = 7;
  mark_best(models);
  EXPECT_TRUE(models[1].best);
  EXPECT_FALSE(models[0].within_noise);
  models[0].runs[1].seed = 0;
  mark_best(models);
  EXPECT_TRUE(models[0].within_noise);
}

// A split of its own: what was trained on is tested, and the other way round.
Split turned(const Split& split) {
  return {split.test, split.validation, split.train};
}

CompareRequest small_request(const std::filesystem::path& out) {
  CompareRequest request;
  request.out = out;
  request.splits = {0, 1};
  for (const char* name : {"mlp", "gcn"}) {
    Config config(name);
    config.data = "mines.safetensors";
    config.threads = 2;
    config.seeds = 2;
    config.final().recipe.epochs = 4;
    request.configs.push_back(config);
  }
  return request;
}

TEST(Compare, KilledAndContinuedGivesTheSameTable) {
  TemporaryFolder folder;
  Dataset data = small_mines(20);
  data.splits.push_back(turned(data.splits.front()));
  std::optional<Comparison> whole = compare_models(data, small_request(folder / "whole"), {});
  ASSERT_TRUE(whole.has_value());
  ASSERT_EQ(whole->models.size(), 2U);
  EXPECT_EQ(whole->models[0].runs.size(), 4U);
  EXPECT_EQ(whole->models[0].runs[0].split, 0U);
  EXPECT_EQ(whole->models[0].runs[3].split, 1U);
  EXPECT_GT(whole->models[1].parameters, 0U);
  Config second = small_request({}).configs[1];
  second.split.index = 1;
  RunOptions options;
  options.out = folder / "alone";
  RunSummary alone = run_training(make_problem(data, second), second, options, {}).record.summary;
  EXPECT_EQ(whole->models[1].runs[2].test, alone.seeds[0].test);
  EXPECT_EQ(whole->models[1].runs[3].validation, alone.seeds[1].validation);
  std::optional<Comparison> other;
  for (size_t tries = 0; !other && tries < 30; ++tries) {
    RunHooks hooks;
    hooks.stop = [left = std::make_shared<size_t>(5)] { return --*left == 0; };
    other = compare_models(data, small_request(folder / "stopped"), hooks);
  }
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(to_csv(*whole), to_csv(*other));
  EXPECT_EQ(read_text(folder / "stopped/compare.csv"), to_csv(*whole));
}

}  // namespace
}  // namespace spex
