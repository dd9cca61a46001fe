#include <spex/core/files.h>
#include <spex/core/threads.h>
#include <spex/graph/builder.h>
#include <spex/run/checkpoint.h>
#include <spex/run/model_file.h>
#include <spex/run/predict.h>
#include <spex/run/run.h>

#include <cmath>
#include <numeric>
#include <set>

#include "run/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

TEST(Run, LearnsMinesweeperWellAboveChance) {
  TemporaryFolder folder;
  Config config = quick_config();
  config.expander.degree = 10;
  config.phase("estimator").recipe.epochs = 60;
  config.final().recipe.epochs = 60;
  final_options(config).width = 32;
  final_options(config).degrees = {8, 6, 6};
  RunResult result = run(config, folder / "run", {}, {}, 40);
  EXPECT_TRUE(result.finished);
  EXPECT_EQ(result.record.summary.metric, "roc_auc");
  EXPECT_GT(result.record.summary.test_mean, 0.75);
  EXPECT_GT(result.record.summary.estimator_test, 0.65);
  EXPECT_EQ(result.record.epochs.size(), 120U);
}

TEST(Run, LeavesTheFilesOfTheDesignAndNoOthers) {
  TemporaryFolder folder;
  run(quick_config(), folder / "run");
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "run"))
    files.insert(entry.path().filename());
  EXPECT_EQ(files, (std::set<std::string>{"config.toml", "metrics.csv", "estimator.safetensors",
                                          "scores.safetensors", "attention.safetensors",
                                          "model.safetensors", "predictions.csv", "summary.json",
                                          "details.json", "lock"}));
}

TEST(Run, WhatItReturnsIsWhatItWrote) {
  TemporaryFolder folder;
  RunRecord record = run(quick_config(), folder / "run").record;
  RunRecord read = load_record(folder / "run");
  EXPECT_EQ(to_json(read.summary), to_json(record.summary));
  EXPECT_EQ(to_json(read.details), to_json(record.details));
  EXPECT_EQ(to_csv(read.epochs), to_csv(record.epochs));
}

TEST(Run, TriesEndWhenNoneCanBeBetterAndTheSharpestOfEqualEpochsIsKept) {
  SbmOptions options;  // features that tell the class
  options.nodes = 200;
  options.classes = 2;
  options.noise = 0.01;
  options.degree = 4;
  TemporaryFolder folder;
  Config config = quick_config();
  estimator_options(config).estimators = 4;
  config.phase("estimator").recipe.epochs = 30;
  RunOptions out;
  out.out = folder / "run";
  RunRecord record =
      run_training(make_problem(generate_sbm(options), config), config, out, {}).record;
  double best = 0, sharpest = 1;
  size_t last_try = 0;
  for (const EpochRecord& epoch : record.epochs)
    if (epoch.phase == "estimator") {
      best = std::max(best, epoch.validation);
      last_try = epoch.seed;
      if (epoch.validation == 1.0) sharpest = std::min(sharpest, epoch.temperature);
    }
  EXPECT_LT(sharpest, 0.9);
  EXPECT_FLOAT_EQ(load_model(RunFiles{out.out}.phase("estimator")).temperature, sharpest);
  EXPECT_EQ(best, 1.0);
  EXPECT_LT(last_try, 3U);
}

TEST(Run, AnotherSeedGivesAnotherModel) {
  TemporaryFolder folder;
  Config config = quick_config();
  run(config, folder / "zero");
  config.seed = 1;
  run(config, folder / "one");
  EXPECT_NE(read_text(folder / "zero/model.safetensors"),
            read_text(folder / "one/model.safetensors"));
  EXPECT_NE(read_text(folder / "zero/scores.safetensors"),
            read_text(folder / "one/scores.safetensors"));
}

// What training did: every loss and validation metric of every phase.
std::vector<std::pair<double, double>> course_of(const RunRecord& record) {
  std::vector<std::pair<double, double>> course;
  for (const EpochRecord& row : record.epochs) course.emplace_back(row.train_loss, row.validation);
  return course;
}

TEST(Run, EverySwitchOfTheAblationRunsAndChangesTheTraining) {
  TemporaryFolder plain;
  auto unchanged = course_of(run(quick_config(), plain / "run").record);
  for (const char* setting :
       {"spexphormer.sampling=uniform", "spexphormer.sampling=top", "estimator.temperature=false",
        "estimator.normalize_values=false", "spexphormer.log_scores=true", "spexphormer.truncate=5",
        "spexphormer.resample_every=3", "estimator.layers=1", "estimator.modulation=sum",
        "estimator.norm=layer", "estimator.norm=graph", "spexphormer.norm=layer",
        "spexphormer.post_layers=1", "spexphormer.pre_layers=0", "spexphormer.degrees=[100, 100]",
        "expander.degree=0", "split.ratio=50/25/25", "split.metric=accuracy"}) {
    SCOPED_TRACE(setting);
    TemporaryFolder folder;
    Config config = quick_config();
    apply_setting(config, setting);
    RunResult result = run(config, folder / "run");
    ASSERT_TRUE(result.finished);
    EXPECT_GT(result.record.summary.test_mean, 0.1);
    EXPECT_LE(result.record.summary.test_mean, 1.0);
    EXPECT_NE(course_of(result.record), unchanged);
  }
}

TEST(Run, EveryModelTrainsAndPredicts) {
  TemporaryFolder folder;
  std::string data = folder / "mines.safetensors";
  save_native(small_mines(20), data);
  for (const ModelInfo& info : models()) {
    SCOPED_TRACE(info.name);
    Config config(info.name);
    config.data = data;
    config.threads = 2;
    config.expander.degree = 6;
    for (Phase& phase : config.phases) phase.recipe.epochs = 3;
    RunResult result = run(config, folder / info.name);
    ASSERT_TRUE(result.finished);
    EXPECT_GT(result.record.summary.final.parameters, 0U);
    PredictOptions options;
    options.run = folder / info.name;
    EXPECT_EQ(predict(options).nodes.size(), 400U);
    options.data = data;          // as a graph that it has not seen
    if (info.name == "glognn") {  // learns a row for each node
      EXPECT_SAYS(predict(options), "cannot predict on");
    } else {
      EXPECT_EQ(predict(options).nodes.size(), 400U);
    }
  }
}

TEST(Run, APerceptronOfTheSameFeaturesStandsBesideIt) {
  TemporaryFolder folder;
  Config config = quick_config();
  double beside = run(config, folder / "run").record.details.edgeless_test;
  EXPECT_GT(beside, 0.2);
  EXPECT_LT(beside, 1.0);
  Dataset path = small_mines(20);
  std::vector<NodeId> from(399), to(399);
  std::iota(from.begin(), from.end(), 0U);
  std::iota(to.begin(), to.end(), 1U);
  path.graph = build_csr(400, from, to).graph;
  RunOptions options;
  options.out = folder / "path";
  RunResult other = run_training(make_problem(path, config), config, options, {});
  EXPECT_EQ(other.record.details.edgeless_test, beside) << "whatever the edges";
  config.final().recipe.epochs = 100;
  double longer = run(config, folder / "longer").record.details.edgeless_test;
  EXPECT_NE(longer, beside) << "it trains no longer than the run";
  Config edgeless("mlp");
  edgeless.threads = 2;
  edgeless.final().recipe.epochs = 3;
  EXPECT_TRUE(std::isnan(run(edgeless, folder / "mlp").record.details.edgeless_test));
}

TEST(Run, ExphormerTakesVirtualNodes) {
  TemporaryFolder folder;
  Config config = quick_config();
  set_model(config, "exphormer");
  config.options<ExphormerOptions>("exphormer").virtual_nodes = 2;
  config.data = folder / "mines.safetensors";
  save_native(small_mines(20), config.data);
  RunResult result = run(config, folder / "run");
  ASSERT_TRUE(result.finished);
  PredictOptions options;
  options.run = folder / "run";
  EXPECT_EQ(predict(options).nodes.size(), 400U);
}

TEST(Run, UniformSamplingNeedsNoEstimator) {
  TemporaryFolder folder;
  Config config = quick_config();
  final_options(config).sampling = Sampling::uniform;
  RunResult result = run(config, folder / "run");
  EXPECT_FALSE(std::filesystem::exists(folder / "run/estimator.safetensors"));
  EXPECT_EQ(result.record.summary.estimator.epochs, 0U);
}

// Clusters of 15, four neighbours a layer: a uniform sample keeps the two edges that matter with
// probability 7%.
SeedResult train_on_bridge(Sampling sampling, size_t seed) {
  TemporaryFolder folder;
  BridgeOptions bridge;
  bridge.nodes = 3000;
  bridge.cluster = 15;
  Config config;
  config.seed = seed;
  config.threads = 1;
  config.split.metric = Metric::accuracy;
  config.expander.degree = 0;
  estimator_options(config).width = 16;
  config.phase("estimator").recipe.epochs = 200;
  config.phase("estimator").recipe.learning_rate = 0.03;
  estimator_options(config).gamma = 0.97;
  estimator_options(config).lambda = 6;
  estimator_options(config).norm = Norm::batch;
  final_options(config).width = 16;
  final_options(config).degrees = {4, 4};
  final_options(config).dropout = 0;
  final_options(config).sampling = sampling;
  RunOptions options;
  options.out = folder / "run";
  return run_training(make_problem(generate_bridge(bridge), config), config, options, {})
      .record.summary.seeds.at(0);
}

// The estimator solves the task, yet its scores are not always sharp enough: of seeds 0 to 7, seven
// ended above 95% with these settings (test accuracy, when they were chosen). So up to four seeds
// are tried, alike for both samplings, and the best on validation counts.
SeedResult best_on_bridge(Sampling sampling) {
  SeedResult best;
  for (size_t seed = 0; seed < 4 && best.validation < 0.95; ++seed) {
    SeedResult result = train_on_bridge(sampling, seed);
    if (result.validation > best.validation) best = result;
  }
  return best;
}

TEST(Run, AttentionBasedSamplingSolvesBridgeWhereUniformSamplingDoesNot) {
  set_threads(1);
  EXPECT_GT(best_on_bridge(Sampling::weighted).test, 0.95);
  EXPECT_LT(best_on_bridge(Sampling::uniform).test, 0.65);
  set_threads(0);
}

TEST(Run, ScoresFromAFileServeATrainingOfAnotherWidth) {
  TemporaryFolder folder;
  Config config = quick_config();
  config.data = folder / "mines.safetensors";
  save_native(small_mines(20), config.data);
  Problem problem = make_problem(small_mines(20), config);
  EstimateResult estimate = run_estimate(problem, config, folder / "scores", {});
  EXPECT_GT(estimate.validation, 0.3);
  run(config, folder / "whole");
  EXPECT_EQ(read_text(folder / "scores"), read_text(folder / "whole/scores.safetensors"));

  RunOptions options;
  options.scores = folder / "scores";
  run(config, folder / "shared", {}, options);
  EXPECT_EQ(read_text(folder / "shared/model.safetensors"),
            read_text(folder / "whole/model.safetensors"));
  final_options(config).width = 16;
  EXPECT_TRUE(run(config, folder / "wide", {}, options).finished);
  PredictOptions predicting;
  predicting.run = folder / "wide";
  EXPECT_EQ(predict(predicting).nodes.size(), 400U);
  predicting.data = config.data;
  EXPECT_SAYS(predict(predicting), "trained on scores from a file and has no estimator");
}

TEST(Run, ScoresOfAnotherGraphAreRefusedBeforeTheFolderIsMade) {
  TemporaryFolder folder;
  Config config = quick_config();
  run_estimate(make_problem(small_mines(20), config), config, folder / "scores", {});
  config.expander.seed = 1;
  RunOptions options;
  options.scores = folder / "scores";
  EXPECT_SAYS(run(config, folder / "run", {}, options), "holds the scores of another graph");
  EXPECT_FALSE(std::filesystem::exists(folder / "run"));
}

TEST(Run, ScoresOfOtherFeaturesOnTheSameGraphAreRefused) {
  TemporaryFolder folder;
  Config config = quick_config();
  Dataset data = small_mines(12), other = data;
  auto& features = std::get<DenseFeatures>(other.features);
  Buffer<float> values(features.values.size(), MemoryTag::features);
  std::copy(features.values.begin(), features.values.end(), values.begin());
  values[3] += 1.0F;
  features.values = std::move(values);
  run_estimate(make_problem(data, config), config, folder / "scores.safetensors", {});
  RunOptions options;
  options.scores = folder / "scores.safetensors";
  options.out = folder / "run";
  EXPECT_SAYS(run_training(make_problem(other, config), config, options, {}), "another graph");
  EXPECT_TRUE(run_training(make_problem(data, config), config, options, {}).finished);
}

TEST(Run, SettingsThatCannotWorkAreRefusedBeforeTheFolderIsMade) {
  for (auto [setting, sentence] : std::initializer_list<std::pair<const char*, const char*>>{
           {"spexphormer.heads=3", "a width of 8 cannot be shared by 3 heads"},
           {"spexphormer.heads=5", "a width of 8 cannot be shared by 5 heads"}}) {
    TemporaryFolder folder;
    Config config = quick_config();
    apply_setting(config, setting);
    EXPECT_SAYS(run(config, folder / "run"), sentence);
    EXPECT_FALSE(std::filesystem::exists(folder / "run")) << setting;
  }
}

TEST(Run, AFolderThatHoldsARunIsNotOverwritten) {
  TemporaryFolder folder;
  run(quick_config(), folder / "run");
  std::string before = read_text(folder / "run/model.safetensors");
  Config other = quick_config();
  other.seed = 9;
  EXPECT_SAYS(run(other, folder / "run"), "already holds a run");
  EXPECT_EQ(read_text(folder / "run/model.safetensors"), before);
}

TEST(Run, LossThatIsNoNumberNamesEpochAndLayerAndKeepsTheCheckpoint) {
  for (auto [setting, epoch] : std::initializer_list<std::pair<const char*, const char*>>{
           {"spexphormer.batch_size=0", "epoch 2 of 6, first in the node encoder"},
           {"spexphormer.batch_size=64", "epoch 1 of 6, first in the node encoder"}}) {
    SCOPED_TRACE(setting);
    TemporaryFolder folder;
    Config config = quick_config();
    apply_setting(config, setting);
    config.final().recipe.learning_rate = 1e30;
    EXPECT_SAYS(run(config, folder / "run"),
                std::string("the spexphormer network's loss is no longer a number in ") + epoch);
    auto checkpoint = load_checkpoint(folder / "run/checkpoint.safetensors");
    ASSERT_TRUE(checkpoint.has_value());
    EXPECT_EQ(checkpoint->phase, "estimator");
    EXPECT_FALSE(std::filesystem::exists(folder / "run/model.safetensors"));
  }
}

TEST(Run, ValidationNodesOfOneClassAreASentence) {
  TemporaryFolder folder;
  Dataset data = small_mines(20);
  Buffer<int32_t> classes(data.nodes(), MemoryTag::other);
  std::copy(data.labels.classes.begin(), data.labels.classes.end(), classes.begin());
  for (NodeId node : data.splits[0].validation) classes[node] = 0;
  data.labels.classes = std::move(classes);
  RunOptions options;
  options.out = folder / "run";
  EXPECT_SAYS(
      run_training(make_problem(std::move(data), quick_config()), quick_config(), options, {}),
      "cannot be computed on the validation nodes");
}

}  // namespace
}  // namespace spex
