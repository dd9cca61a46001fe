#include <gtest/gtest.h>
#include <spex/run/halving.h>

#include <algorithm>
#include <limits>

namespace spex {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<std::pair<size_t, size_t>> pairs(const std::vector<Job>& jobs) {
  std::vector<std::pair<size_t, size_t>> all;
  for (const Job& job : jobs) all.emplace_back(job.trial, job.rung);
  return all;
}
using Pairs = std::vector<std::pair<size_t, size_t>>;

TEST(Halving, RungsRiseToAllEpochs) {
  EXPECT_EQ(rung_epochs(90), (std::vector<size_t>{10, 30, 90}));
  EXPECT_EQ(rung_epochs(2), (std::vector<size_t>{1, 1, 2}));
}

TEST(Halving, BeginsWithNewTrials) {
  EXPECT_EQ(pairs(next_wave({}, 3, 100)), (Pairs{{0, 0}, {1, 0}, {2, 0}}));
  EXPECT_EQ(pairs(next_wave({}, 3, 2)), (Pairs{{0, 0}, {1, 0}}));
}

TEST(Halving, PromotesTheBestThirdOfARungAndFillsUpWithNewOnes) {
  std::vector<RungScores> trials = {{0.1}, {0.6}, {0.3}, {0.9}, {0.2}, {0.5}};
  EXPECT_EQ(pairs(next_wave(trials, 4, 100)), (Pairs{{3, 1}, {1, 1}, {6, 0}, {7, 0}}));
}

TEST(Halving, PromotesFromTheHighestRungFirstAndNobodyTwice) {
  std::vector<RungScores> trials = {{0.1}, {0.6, 0.7}, {0.3},  {0.9, 0.8}, {0.2},  {0.5, 0.9},
                                    {0.0}, {0.05},     {0.04}, {0.03},     {0.02}, {0.01}};
  // Of twelve at the first rung the best four: 3, 1 and 5 have gone on, 2 has not. Of three at the
  // second, the best: 5.
  EXPECT_EQ(pairs(next_wave(trials, 8, 12)), (Pairs{{5, 2}, {2, 1}}));
  EXPECT_EQ(pairs(next_wave(trials, 1, 12)), (Pairs{{5, 2}}));
}

TEST(Halving, WhatFailedIsNotPromoted) {
  std::vector<RungScores> trials = {{kNaN}, {kNaN}, {kNaN}, {kNaN}, {0.1}, {kNaN}};
  EXPECT_EQ(pairs(next_wave(trials, 4, 6)), (Pairs{{4, 1}}));
}

TEST(Halving, FinalistsAreTheBestOfTheHighestRungs) {
  std::vector<RungScores> trials = {{0.9, 0.9, 0.99}, {0.8},       {0.7, 0.7, 0.7},
                                    {0.5, 0.75},      {0.6, kNaN}, {}};
  EXPECT_EQ(finalists(trials, 3), (std::vector<size_t>{2, 3, 1}));
  EXPECT_EQ(finalists(trials, 1), (std::vector<size_t>{2}));
}

TEST(Halving, TheDefaultIsKeptUnlessItIsBeatenByMoreThanTheNoise) {
  std::vector<double> start = {0.50, 0.60, 0.70, 0.80};
  std::vector<double> noisy = {0.62, 0.55, 0.82, 0.72}, sure = {0.52, 0.61, 0.72, 0.82};
  EXPECT_EQ(choose_winner({start, noisy}, 0.3), 0U) << "a higher mean, within the noise";
  EXPECT_EQ(choose_winner({start, {0.55, 0.57, 0.73, 0.78}}, 0.3), 0U) << "0.4 standard errors";
  EXPECT_EQ(choose_winner({start, {0.55, 0.60, 0.73, 0.80}}, 0.3), 1U) << "1.6 standard errors";
  EXPECT_EQ(choose_winner({start, noisy, sure}, 0.3), 2U) << "a smaller gain, but a sure one";
  EXPECT_EQ(choose_winner({start, {0.62, 0.71, 0.82, 0.92}, sure}, 0.3), 1U) << "the larger of two";
  EXPECT_EQ(choose_winner({{0.5}, {0.7}}, 0.3), 0U) << "one training tells nothing of noise";
  EXPECT_EQ(choose_winner({{0.5}, {0.9}}, 0.3), 1U) << "a gain that is sure";
  EXPECT_EQ(choose_winner({{}, {}}, 0.3), 0U);
  EXPECT_EQ(choose_winner({start, {0.52, 0.61}, {0.51}}, 0.3), 1U) << "time was over before the rest";
  EXPECT_EQ(choose_winner({{0.5}, {0.75, 0.9}}, 0.3), 0U);
  EXPECT_EQ(choose_winner({start, {0.53, 0.63, 0.70, 0.81}, {0.525, 0.625}}, 0.3), 1U)
      << "the better one in the trainings that both have";
  EXPECT_EQ(choose_winner({start, {kNaN, 0.9, 0.9, 0.9}}, 0.3), 0U);
}

}  // namespace
}  // namespace spex
