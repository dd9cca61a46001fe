#include <gtest/gtest.h>
#include <spex/train/schedule.h>

#include <cmath>

namespace spex {
namespace {

TEST(CosineSchedule, RisesLinearlyThenFallsAsAHalfCosineToZero) {
  CosineSchedule schedule = {0.1, 5, 105};
  EXPECT_DOUBLE_EQ(schedule.rate(0), 1e-7);
  EXPECT_DOUBLE_EQ(schedule.rate(2), 0.04);
  EXPECT_DOUBLE_EQ(schedule.rate(5), 0.1);
  EXPECT_NEAR(schedule.rate(55), 0.05, 1e-12);
  EXPECT_NEAR(schedule.rate(104), 0.05 * (1 + std::cos(M_PI * 0.99)), 1e-12);
  EXPECT_EQ(schedule.rate(105), 0.0);
}

TEST(CosineSchedule, WithoutWarmUpStartsAtTheBase) {
  EXPECT_DOUBLE_EQ((CosineSchedule{0.1, 0, 10}.rate(0)), 0.1);
}

TEST(TemperatureSchedule, IsOneThenDecaysToItsMinimum) {
  TemperatureSchedule schedule;
  EXPECT_EQ(schedule.at(0), 1.0);
  EXPECT_EQ(schedule.at(5), 1.0);
  EXPECT_DOUBLE_EQ(schedule.at(7), 0.99 * 0.99);
  EXPECT_EQ(schedule.at(100000), 0.05);
}

}  // namespace
}  // namespace spex
