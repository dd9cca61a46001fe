#include <spex/core/files.h>
#include <spex/core/random.h>
#include <spex/run/predict.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "run/support.h"
#include "same_run.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

Dataset two_classes(uint64_t seed = 0, size_t nodes = 300) {
  SbmOptions options;
  options.nodes = nodes;
  options.classes = 2;
  options.features = 3;
  options.seed = seed;
  return generate_sbm(options);
}

// The features with another column, far from zero, that says nothing.
Dataset with_large_column(Dataset data) {
  const auto& given = std::get<DenseFeatures>(data.features);
  Random random(3, Purpose::test);
  Buffer<float> values(data.nodes() * 4, MemoryTag::features);
  for (size_t i = 0; i < data.nodes(); ++i) {
    std::copy_n(given.view().row(i), 3, &values[4 * i]);
    values[4 * i + 3] = static_cast<float>(5e6 + 1e5 * random.uniform(i));
  }
  data.features = DenseFeatures{data.nodes(), 4, std::move(values)};
  return data;
}

// Targets near 5000 that the features tell.
Dataset with_targets(Dataset data) {
  const auto& given = std::get<DenseFeatures>(data.features);
  Buffer<float> values(data.nodes(), MemoryTag::other);
  for (size_t i = 0; i < data.nodes(); ++i)
    values[i] = 5000 + 10 * given.view()(i, 0) - 20 * given.view()(i, 1);
  data.labels = {Task::regression, 1, {}, std::move(values)};
  data.class_names.clear();
  return data;
}

Dataset without_features(Dataset data) {
  data.features = DenseFeatures{data.nodes(), 0, {}};
  return data;
}

Config small_mlp(const std::string& data, size_t epochs = 40) {
  Config config("mlp");
  config.data = data;
  config.final().recipe.epochs = epochs;
  return config;
}

double trained(const Config& config, const std::filesystem::path& out) {
  RunOptions options;
  options.out = out;
  RunResult result =
      run_training(make_problem(open_data(config.data), config), config, options, {});
  return result.record.summary.seeds.front().validation;
}

// Trains on the stored data set and compares predictions of every kind with the run's own.
void expect_predictions_agree(const std::filesystem::path& run, const std::string& data) {
  PredictOptions options;
  options.run = run;
  std::ostringstream own, other;
  write_csv(own, predict(options));
  EXPECT_EQ(own.str(), read_text(run / "predictions.csv"));
  options.data = data;
  write_csv(other, predict(options));
  EXPECT_EQ(own.str(), other.str());
}

TEST(Preparation, AColumnOfMillionsDoesNotDrownTheOthers) {
  TemporaryFolder folder;
  std::string path = folder / "large.safetensors";
  save_native(with_large_column(two_classes()), path);
  Config config = small_mlp(path);
  double validation = trained(config, folder / "scaled");
  EXPECT_GT(validation, 0.75);
  expect_predictions_agree(folder / "scaled", path);
  config.features.standardise = false;
  EXPECT_LT(trained(config, folder / "raw"), validation - 0.08) << "the case is one";
}

TEST(Preparation, TargetsNearFiveThousandAreLearnedAndPredictedAsTheyAre) {
  TemporaryFolder folder;
  std::string path = folder / "targets.safetensors";
  Dataset data = with_targets(two_classes());
  save_native(data, path);
  Config config = small_mlp(path);
  EXPECT_GT(trained(config, folder / "scaled"), 0.8);
  expect_predictions_agree(folder / "scaled", path);
  PredictOptions options;
  options.run = folder / "scaled";
  Predictions predictions = predict(options);
  double error = 0;
  for (size_t i = 0; i < data.nodes(); ++i)
    error += std::abs(predictions.values(i, 0) - data.labels.values[i]) / 300;
  EXPECT_LT(error, 20);
  config.features.standardise = false;
  EXPECT_LT(trained(config, folder / "raw"), 0) << "the case is one";
}

TEST(Preparation, TargetsAreMeasuredOnTheTrainingNodesAlone) {
  Dataset data = with_targets(two_classes());
  Split split = choose_split(data, {});
  Buffer<float> values(data.nodes(), MemoryTag::other);
  std::copy(data.labels.values.begin(), data.labels.values.end(), values.begin());
  for (NodeId node : split.test) values[node] = 1e9F;
  Labels spoiled{Task::regression, 1, {}, std::move(values)};
  EXPECT_EQ(target_scaling(spoiled, split, {}).mean, target_scaling(data.labels, split, {}).mean);
  EXPECT_TRUE(target_scaling(two_classes().labels, split, {}).scale.empty());
}

TEST(Preparation, AProblemMeasuresItsTargetsOnItsTrainingNodes) {
  Config config = small_mlp("x");
  Problem problem = make_problem(with_targets(two_classes()), config);
  double sum = 0;
  for (NodeId node : problem.split.train) sum += problem.data.labels.values[node];
  EXPECT_NEAR(problem.preparation.targets.mean.at(0),
              sum / static_cast<double>(problem.split.train.size()), 1e-6);
}

TEST(Preparation, FeaturesOfEdgesAreScaledInTrainingAndPredictionAlike) {
  Dataset data = two_classes();
  Buffer<float> values(data.graph.edges(), MemoryTag::graph);
  for (size_t e = 0; e < values.size(); ++e) values[e] = 1000.0F + static_cast<float>(e % 7);
  data.edge_feature_count = 1;
  data.edge_features = std::move(values);
  PreparedData prepared = prepare(data, {});
  double sum = 0;
  for (float value : prepared.data.edge_features) sum += value;
  EXPECT_NEAR(sum / static_cast<double>(data.graph.edges()), 0.0, 1e-3);
  Dataset again = prepare_as(prepared.preparation, data);
  EXPECT_TRUE(std::ranges::equal(again.edge_features, prepared.data.edge_features));
}

TEST(Preparation, AnotherGraphIsScaledAsTheFirstOneWas) {
  Preparation preparation = prepare(two_classes(), {}).preparation;
  Dataset other = two_classes(1, 200);
  Dataset prepared = prepare_as(preparation, other);
  const auto& before = std::get<DenseFeatures>(other.features);
  const auto& after = std::get<DenseFeatures>(prepared.features);
  for (size_t i = 0; i < 200; ++i)
    for (size_t c = 0; c < 3; ++c)
      ASSERT_FLOAT_EQ(after.view()(i, c),
                      static_cast<float>((before.view()(i, c) - preparation.features.mean[c]) *
                                         preparation.features.scale[c]));
  EXPECT_SAYS(prepare_as(preparation, with_large_column(two_classes())),
              "has 4 features, but the run was trained with 3");
}

TEST(Preparation, FeaturesOfZerosAndOnesStayWhereTheyAre) {
  Dataset mines = small_mines(20);
  const float* before = std::get<DenseFeatures>(mines.features).values.data();
  PreparedData prepared = prepare(mines, {});
  EXPECT_EQ(std::get<DenseFeatures>(prepared.data.features).values.data(), before);
  EXPECT_TRUE(prepared.preparation.features.scale.empty());
}

TEST(Preparation, AGraphWithoutFeaturesGetsThoseOfItsStructure) {
  PreparedData made = prepare(without_features(two_classes()), {});
  EXPECT_EQ(made.preparation.structure, "degree,walk");
  EXPECT_EQ(feature_count(made.data.features), 17U);
  FeatureConfig none;
  none.structure = "none";
  EXPECT_SAYS(prepare(without_features(two_classes()), none), "has no features");
  EXPECT_EQ(prepare(two_classes(), {}).preparation.structure, "none");
}

TEST(Preparation, StructureIsAddedToGivenFeatures) {
  FeatureConfig config;
  config.structure = "degree,laplacian";
  PreparedData dense = prepare(two_classes(), config);
  EXPECT_EQ(feature_count(dense.data.features), 3U + 1U + 8U);
  config.structure = "embedding";
  PreparedData embedded = prepare(two_classes(), config);
  const auto& rows = std::get<SparseMatrix>(embedded.data.features);
  ASSERT_EQ(rows.cols, 303U);
  for (size_t i = 0; i < 300; ++i) {
    ASSERT_EQ(rows.columns[rows.offsets[i + 1] - 1], 3 + i);
    ASSERT_EQ(rows.values[rows.offsets[i + 1] - 1], 1.0F);
  }
  Dataset sparse = two_classes();
  sparse.features = embedded.data.features;
  config.structure = "degree";
  PreparedData both = prepare(sparse, config);
  const auto& wide = std::get<SparseMatrix>(both.data.features);
  EXPECT_EQ(wide.cols, 304U);
  EXPECT_EQ(wide.nonzeros(), rows.nonzeros() + 300);
}

// Both kinds of structure, on another graph where that is possible.
TEST(Preparation, ModelsOfStructurePredictAsTheyWereTrained) {
  TemporaryFolder folder;
  std::string path = folder / "bare.safetensors", other = folder / "other.safetensors";
  save_native(without_features(two_classes()), path);
  save_native(without_features(two_classes(5, 200)), other);
  Config config = quick_config();
  config.data = path;
  config.features.structure = "degree,walk,laplacian";
  trained(config, folder / "walks");
  expect_predictions_agree(folder / "walks", path);
  PredictOptions options;
  options.run = folder / "walks";
  options.data = other;
  EXPECT_EQ(predict(options).nodes.size(), 200U);
  config.features.structure = "embedding";
  trained(config, folder / "embedded");
  options.run = folder / "embedded";
  EXPECT_SAYS(predict(options), "cannot predict on");
  options.data.clear();
  std::ostringstream own;
  write_csv(own, predict(options));
  EXPECT_EQ(own.str(), read_text(folder / "embedded" / "predictions.csv"));
}

TEST(Preparation, AStoppedRunContinuesToTheSameBytes) {
  TemporaryFolder folder;
  Config config = quick_config();
  config.data = folder / "targets.safetensors";
  config.features.structure = "walk,embedding";
  save_native(with_targets(with_large_column(two_classes())), config.data);
  trained(config, folder / "whole");
  RunOptions options;
  options.out = folder / "stopped";
  for (size_t epochs : {3, 5, 100}) {
    RunHooks hooks;
    hooks.stop = [left = std::make_shared<size_t>(epochs)] { return --*left == 0; };
    run_training(make_problem(open_data(config.data), config), config, options, hooks);
    options.resume = true;
  }
  expect_same_run(folder / "whole", folder / "stopped");
}

TEST(Preparation, HopsRefuseAnEmbedding) {
  Config config("sgc");
  config.features.structure = "embedding";
  EXPECT_SAYS(check(config), "sgc averages features over hops");
  config.features.structure = "degrees";
  EXPECT_SAYS(check(config), "there is no degrees; it is auto, none, or some of degree");
}

}  // namespace
}  // namespace spex
