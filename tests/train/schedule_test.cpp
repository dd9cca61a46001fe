#include <gtest/gtest.h>
#include <spex/model/spexphormer.h>
#include <spex/train/schedule.h>

#include <cmath>

namespace spex {
namespace {

Recipe recipe(size_t warmup, size_t epochs, Schedule schedule = Schedule::cosine) {
  Recipe recipe;
  recipe.learning_rate = 0.1;
  recipe.warmup = warmup;
  recipe.epochs = epochs;
  recipe.schedule = schedule;
  return recipe;
}

TEST(LearningRate, RisesLinearlyThenFallsAsAHalfCosineToZero) {
  Recipe cosine = recipe(5, 105);
  EXPECT_DOUBLE_EQ(learning_rate(cosine, 0), 1e-7);
  EXPECT_DOUBLE_EQ(learning_rate(cosine, 2), 0.04);
  EXPECT_DOUBLE_EQ(learning_rate(cosine, 5), 0.1);
  EXPECT_NEAR(learning_rate(cosine, 55), 0.05, 1e-12);
  EXPECT_NEAR(learning_rate(cosine, 104), 0.05 * (1 + std::cos(M_PI * 0.99)), 1e-12);
  EXPECT_EQ(learning_rate(cosine, 105), 0.0);
}

TEST(LearningRate, WithoutWarmUpStartsAtTheBase) {
  EXPECT_DOUBLE_EQ(learning_rate(recipe(0, 10), 0), 0.1);
}

TEST(LearningRate, StaysWhereTheScheduleIsConstant) {
  Recipe constant = recipe(2, 10, Schedule::constant);
  EXPECT_DOUBLE_EQ(learning_rate(constant, 1), 0.05);
  EXPECT_DOUBLE_EQ(learning_rate(constant, 2), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(constant, 9), 0.1);
}

TEST(Temperature, IsOneThenDecaysToItsMinimum) {
  EstimatorOptions options;
  EXPECT_EQ(options.temperature(0), 1.0);
  for (size_t epoch = 0; epoch < 5; ++epoch) EXPECT_EQ(options.temperature(epoch), 1.0);
  EXPECT_DOUBLE_EQ(options.temperature(5), 0.99) << "lambda epochs at 1, no more";
  EXPECT_DOUBLE_EQ(options.temperature(7), 0.99 * 0.99 * 0.99);
  EXPECT_EQ(options.temperature(100000), 0.05);
  options.anneal = false;
  EXPECT_EQ(options.temperature(100000), 1.0);
}

}  // namespace
}  // namespace spex
