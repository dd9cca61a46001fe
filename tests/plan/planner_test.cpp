#include <spex/core/text.h>
#include <spex/plan/planner.h>

#include <map>

#include "run/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

Dataset mines(size_t side) {
  MinesweeperOptions options;
  options.rows = options.columns = side;
  return generate_minesweeper(options);
}

// Peaks of counted memory of each phase, by its name.
std::map<std::string, size_t> measure(const Problem& problem, const Config& config) {
  TemporaryFolder folder;
  RunOptions options;
  options.out = folder / "run";
  std::map<std::string, size_t> peaks;
  RunHooks hooks;
  hooks.on_epoch = [&](const EpochRecord& record, size_t) {
    peaks[record.phase] = std::max(peaks[record.phase], record.peak_bytes);
  };
  run_training(problem, config, options, hooks);
  return peaks;
}

Dataset with_edge_features(Dataset data, size_t count) {
  Buffer<float> values(data.graph.edges() * count, MemoryTag::graph);
  std::fill(values.begin(), values.end(), 1.0F);
  data.edge_feature_count = count;
  data.edge_features = std::move(values);
  return data;
}

void expect_forecast(Config config, Dataset data, double within) {
  for (Phase& phase : config.phases) phase.recipe.epochs = 2;
  Plan plan = make_plan(plan_input(data, config), config);
  auto peaks = measure(make_problem(std::move(data), config), config);
  ASSERT_EQ(plan.phases.size(), peaks.size());
  for (const PhasePlan& phase : plan.phases)
    EXPECT_NEAR(static_cast<double>(phase.bytes) / static_cast<double>(peaks.at(phase.name)), 1.0,
                within)
        << phase.name;
}

TEST(Planner, ForecastsTheBytesOfEveryModelWithinFifteenPercent) {
  for (const ModelInfo& info : models()) {
    SCOPED_TRACE(info.name);
    expect_forecast(Config(info.name), mines(80), 0.15);
  }
}

TEST(Planner, ForecastsTheBytesOfEdgeFeatures) {
  for (const char* model : {"exphormer", "spexphormer"}) {
    SCOPED_TRACE(model);
    expect_forecast(Config(model), with_edge_features(mines(80), 8), 0.15);
  }
  Config batches;
  batches.final().recipe.batch_size = 500;
  expect_forecast(batches, with_edge_features(mines(80), 8), 0.25);
}

TEST(Planner, ForecastsAModelThatGrowsAsItIsInTheEnd) {
  Config config("polynormer");
  apply_setting(config, "polynormer.local_epochs=1");
  expect_forecast(config, mines(60), 0.15);
}

TEST(Planner, ForecastsTheBytesOfBothPhasesWithinFifteenPercent) {
  struct Case {
    size_t width, heads, pre_layers, batch;
    bool recompute;
    size_t side = 80;
  };
  for (const Case& c : {Case{32, 4, 1, 0, false},
                        {64, 2, 1, 0, false},
                        {64, 1, 1, 0, false},
                        {64, 2, 1, 0, true},
                        {64, 1, 2, 0, true},
                        {64, 2, 2, 0, false},
                        {64, 1, 1, 200, false},
                        {64, 1, 2, 200, true},
                        {64, 2, 1, 200, true},
                        // large enough for a last layer of the training nodes only
                        {32, 4, 1, 0, false, 145},
                        {32, 1, 1, 0, true, 145}}) {
    SCOPED_TRACE(testing::Message()
                 << "width " << c.width << ", heads " << c.heads << ", pre-layers " << c.pre_layers
                 << ", batch " << c.batch << ", recompute " << c.recompute);
    Config config;
    final_options(config).width = c.width;
    final_options(config).heads = c.heads;
    final_options(config).pre_layers = c.pre_layers;
    config.final().recipe.batch_size = c.batch;
    final_options(config).recompute = c.recompute;
    final_options(config).degrees = {8, 5, 5};
    expect_forecast(config, mines(c.side), 0.15);
  }
}

TEST(Planner, ChoosesTheLargestBatchThatFits) {
  Config config;
  Dataset data = mines(60);
  PlanInput input = plan_input(data, config);
  size_t whole = make_plan(input, config).peak_bytes();
  size_t noise = whole / 20;  // a plan is measured: which threads took part differs
  Plan plan = fit_plan(input, config, whole + noise);
  EXPECT_EQ(plan.batch_size, 0U) << "the whole graph fits";
  plan = fit_plan(input, config, whole / 2);
  EXPECT_GT(config.final().recipe.batch_size, 0U);
  EXPECT_LE(plan.peak_bytes(), whole / 2);
  Config twice = config;
  twice.final().recipe.batch_size *= 2;
  EXPECT_GT(make_plan(input, twice).peak_bytes() + noise, whole / 2);
}

TEST(Planner, RefusesWithTheLeastThatWouldFit) {
  Config config;
  Dataset data = mines(60);
  PlanInput input = plan_input(data, config);
  try {
    fit_plan(input, config, 1000);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("needs at least"), std::string::npos) << error.what();
  }
}

TEST(Planner, PlansNoEstimatorWhereNoneIsTrained) {
  Config config;
  Dataset data = mines(20);
  PlanInput input = plan_input(data, config);
  EXPECT_EQ(make_plan(input, config).phases.size(), 2U);
  input.scores_given = true;
  EXPECT_EQ(make_plan(input, config).phases.size(), 1U);
  input.scores_given = false;
  final_options(config).sampling = Sampling::uniform;
  EXPECT_EQ(make_plan(input, config).phases.size(), 1U);
}

}  // namespace
}  // namespace spex
