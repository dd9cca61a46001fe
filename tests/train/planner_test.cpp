#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/data/generators.h>
#include <spex/train/phases.h>
#include <spex/train/planner.h>

namespace spex {
namespace {

Dataset mines(size_t side) {
  MinesweeperOptions options;
  options.rows = options.columns = side;
  return generate_minesweeper(options);
}

// Peaks of counted memory of two epochs of each phase.
struct Peaks {
  size_t estimator = 0, final = 0;
};

Peaks measure(const Problem& problem, Config config) {
  config.estimator.optimiser.epochs = config.final.optimiser.epochs = 2;
  Objective objective(problem.data.labels, config.split.metric);
  size_t inputs = feature_count(problem.data.features);
  Peaks peaks;
  TrainerHooks hooks;
  hooks.on_epoch = [&](const EpochRecord& record) {
    (record.phase == "final" ? peaks.final : peaks.estimator) = record.peak_bytes;
  };
  Network estimator(estimator_options(config, inputs, objective.outputs(), problem.graph), 0);
  TrainState first;
  train_estimator(estimator, problem, config, 0, first, hooks);
  Scores scores =
      estimate_scores(estimator, problem.graph, problem.transposed, problem.data.features, 1.0F);
  size_t held =
      problem.graph.edges() * 2 * scores.layers.size();  // in a run they are a mapped file
  Network network(final_options(config, inputs, objective.outputs(), problem.graph), 0);
  TrainState second;
  train_final(network, problem, &scores, config, 0, second, hooks);
  peaks.final -= held;
  return peaks;
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
    config.final.width = c.width;
    config.final.heads = c.heads;
    config.final.pre_layers = c.pre_layers;
    config.final.batch_size = c.batch;
    config.final.recompute = c.recompute;
    config.final.degrees = {8, 5, 5};
    Dataset data = mines(c.side);
    Plan plan = make_plan(plan_input(data, config), config);
    Peaks peaks = measure(make_problem(std::move(data), config), config);
    ASSERT_EQ(plan.phases.size(), 2U);
    EXPECT_NEAR(static_cast<double>(plan.phases[0].bytes) / static_cast<double>(peaks.estimator),
                1.0, 0.15);
    EXPECT_NEAR(static_cast<double>(plan.phases[1].bytes) / static_cast<double>(peaks.final), 1.0,
                0.15);
  }
}

TEST(Planner, ChoosesTheLargestBatchThatFits) {
  Config config;
  Dataset data = mines(60);
  PlanInput input = plan_input(data, config);
  size_t whole = make_plan(input, config).peak_bytes();
  Plan plan = fit_plan(input, config, whole);
  EXPECT_EQ(plan.batch_size, 0U) << "the whole graph fits";
  plan = fit_plan(input, config, whole / 2);
  EXPECT_GT(config.final.batch_size, 0U);
  EXPECT_LE(plan.peak_bytes(), whole / 2);
  Config twice = config;
  twice.final.batch_size *= 2;
  EXPECT_GT(make_plan(input, twice).peak_bytes(), whole / 2);
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
  config.final.sampling = Sampling::uniform;
  EXPECT_EQ(make_plan(input, config).phases.size(), 1U);
}

TEST(ParseSize, KnowsUnitsAndRefusesTheRest) {
  EXPECT_EQ(parse_size("2GiB"), size_t{2} << 30);
  EXPECT_EQ(parse_size("1.5 GB"), 1'500'000'000U);
  EXPECT_EQ(parse_size("800M"), size_t{800} << 20);
  EXPECT_EQ(parse_size("123"), 123U);
  for (const char* text : {"", "GB", "-1GB", "2 parsecs", "0"})
    EXPECT_THROW(parse_size(text), Error) << text;
}

}  // namespace
}  // namespace spex
