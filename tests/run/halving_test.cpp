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

// Of finalists that no resamples tell more of.
std::vector<std::vector<Judged>> judged(const std::vector<std::vector<double>>& scores) {
  std::vector<std::vector<Judged>> finalists;
  for (const std::vector<double>& own : scores)
    for (finalists.emplace_back(); double score : own) finalists.back().push_back({score, {}});
  return finalists;
}

TEST(Halving, TheDefaultIsKeptUnlessItIsBeatenByMoreThanTheNoise) {
  std::vector<double> start = {0.50, 0.60, 0.70, 0.80};
  std::vector<double> noisy = {0.62, 0.55, 0.82, 0.72}, sure = {0.52, 0.61, 0.72, 0.82};
  auto winner = [](const std::vector<std::vector<double>>& scores) {
    return choose_winner(judged(scores));
  };
  EXPECT_EQ(winner({start, noisy}), 0U) << "a higher mean, within the noise";
  EXPECT_EQ(winner({start, {0.55, 0.57, 0.73, 0.78}}), 0U) << "0.4 standard errors";
  EXPECT_EQ(winner({start, {0.55, 0.60, 0.73, 0.80}}), 1U) << "1.6 standard errors";
  EXPECT_EQ(winner({start, noisy, sure}), 2U) << "a smaller gain, but a sure one";
  EXPECT_EQ(winner({start, {0.62, 0.71, 0.82, 0.92}, sure}), 1U) << "the larger of two";
  EXPECT_EQ(winner({{0.5}, {0.9}}), 0U) << "one round tells nothing of noise";
  EXPECT_EQ(winner({{}, {}}), 0U);
  EXPECT_EQ(winner({start, {0.52, 0.61}, {0.51}}), 1U) << "time was over before the rest";
  EXPECT_EQ(winner({{0.5}, {0.75, 0.9}}), 0U);
  EXPECT_EQ(winner({start, {0.53, 0.63, 0.70, 0.81}, {0.525, 0.625}}), 1U)
      << "the better one in the rounds that both have";
  EXPECT_EQ(winner({start, {kNaN, 0.9, 0.9, 0.9}}), 0U);
}

// Rounds that agree with each other may have been judged by the same few nodes.
TEST(Halving, NodesThatDecideMakeNoise) {
  Judged start{0.5, {0.5, 0.4, 0.6, 0.5}};
  Judged by_few{0.55, {0.45, 0.5, 0.7, 0.55}}, by_many{0.55, {0.55, 0.46, 0.64, 0.55}};
  EXPECT_EQ(choose_winner({{start}, {by_few}}), 0U) << "gains of -0.05 to 0.1";
  EXPECT_EQ(choose_winner({{start}, {by_many}}), 1U) << "gains of 0.04 to 0.06";
  EXPECT_EQ(choose_winner({{start, start}, {by_few, by_few}}), 0U) << "rounds have the same nodes";
  Judged unlike{0.55, {0.6, 0.4, 0.6, 0.6}};
  EXPECT_EQ(choose_winner({{start, start}, {by_few, unlike}}), 1U)
      << "what differs between rounds is less noise";
  by_many.resampled[1] = kNaN;
  EXPECT_EQ(choose_winner({{start}, {by_many}}), 1U) << "no metric in one resample";
  by_many.resampled = {kNaN, kNaN, kNaN, kNaN};
  EXPECT_EQ(choose_winner({{start}, {by_many}}), 0U);
}

}  // namespace
}  // namespace spex
