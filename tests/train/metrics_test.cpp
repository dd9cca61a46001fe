#include <gtest/gtest.h>
#include <spex/train/metrics.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "gradient_check.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

std::vector<NodeId> first(size_t count) {
  std::vector<NodeId> rows(count);
  std::iota(rows.begin(), rows.end(), 0U);
  return rows;
}

// Every positive against every negative.
double pairs(const std::vector<float>& scores, const std::vector<uint8_t>& positives) {
  double wins = 0, count = 0;
  for (size_t i = 0; i < scores.size(); ++i)
    for (size_t j = 0; j < scores.size(); ++j)
      if (positives[i] && !positives[j]) {
        wins += scores[i] > scores[j] ? 1.0 : scores[i] == scores[j] ? 0.5 : 0.0;
        ++count;
      }
  return wins / count;
}

TEST(RocAuc, MatchesTheCountOfAllPairsWithAndWithoutTies) {
  for (double step : {1e-9, 0.1, 1.0}) {
    Random random(1, Purpose::test);
    std::vector<float> scores;
    std::vector<uint8_t> positives;
    for (size_t i = 0; i < 500; ++i) {
      scores.push_back(static_cast<float>(std::round(random.normal(i) / step) * step));
      positives.push_back(random.uniform(1000 + i) < 0.3);
    }
    EXPECT_NEAR(roc_auc(scores, positives), pairs(scores, positives), 1e-12) << step;
  }
}

TEST(RocAuc, PerfectReversedAndAllTied) {
  std::vector<uint8_t> positives = {0, 0, 1, 1};
  EXPECT_EQ(roc_auc(std::vector<float>{-2, -1, 0.5, 3}, positives), 1.0);
  EXPECT_EQ(roc_auc(std::vector<float>{3, 1, -0.5, -3}, positives), 0.0);
  EXPECT_EQ(roc_auc(std::vector<float>{0.0F, -0.0F, 0.0F, -0.0F}, positives), 0.5);
}

TEST(RocAuc, IsUndefinedForOneClassOrScoresThatAreNotNumbers) {
  EXPECT_TRUE(std::isnan(roc_auc(std::vector<float>{1, 2}, std::vector<uint8_t>{1, 1})));
  EXPECT_TRUE(std::isnan(roc_auc(std::vector<float>{}, std::vector<uint8_t>{})));
  EXPECT_TRUE(std::isnan(roc_auc(std::vector<float>{1, kMissing}, std::vector<uint8_t>{0, 1})));
}

TEST(RocAuc, OfOneLogitColumnLooksAtItsRowsOnly) {
  Matrix logits = random_matrix(4, 1, 1);
  float values[] = {1, 5, 2, 0};
  std::copy_n(values, 4, logits.data());
  std::vector<int32_t> classes = {0, 0, 1, -1};
  EXPECT_EQ(roc_auc(logits, classes, std::vector<NodeId>{0, 2}), 1.0);
  EXPECT_EQ(roc_auc(logits, classes, std::vector<NodeId>{0, 1, 2}), 0.5);
}

// Of three classes, rows predict 0 0 1 2 2 where 0 1 1 2 0 are right: F1 of 1/2, 2/3, 2/3.
TEST(MacroF1, IsTheMeanOverTheClassesThatOccur) {
  Matrix logits = Matrix::zeros(6, 4, MemoryTag::other);
  size_t guesses[] = {0, 0, 1, 2, 2, 3};
  for (size_t i = 0; i < 6; ++i) logits(i, guesses[i]) = 1.0F;
  std::vector<int32_t> classes = {0, 1, 1, 2, 0, 3};
  EXPECT_NEAR(macro_f1(logits, classes, first(5)), (0.5 + 2.0 / 3 + 2.0 / 3) / 3, 1e-12);
  EXPECT_TRUE(std::isnan(macro_f1(logits, classes, first(0))));
}

TEST(AveragePrecision, IsThePrecisionAtEachPositive) {
  std::vector<float> scores = {0.9F, 0.8F, 0.7F, 0.6F, 0.5F};
  EXPECT_NEAR(average_precision(scores, std::vector<uint8_t>{1, 0, 1, 0, 1}),
              (1.0 + 2.0 / 3 + 3.0 / 5) / 3, 1e-12);
  std::vector<float> tied(5, 0.0F);
  EXPECT_NEAR(average_precision(tied, std::vector<uint8_t>{1, 0, 1, 0, 1}), 0.6, 1e-12);
  EXPECT_TRUE(std::isnan(average_precision(tied, std::vector<uint8_t>(5, 0))));
}

TEST(CalibrationError, IsTheDistanceOfConfidenceFromAccuracy) {
  Matrix logits(4, 1, MemoryTag::other);
  fill(logits, std::log(3.0F));  // class 1 with probability 3/4
  EXPECT_NEAR(calibration_error(logits, std::vector<int32_t>{1, 1, 1, 0}, first(4)), 0.0, 1e-6);
  EXPECT_NEAR(calibration_error(logits, std::vector<int32_t>{1, 0, 0, 0}, first(4)), 0.5, 1e-6);
  Matrix many = Matrix::zeros(2, 4, MemoryTag::other);
  EXPECT_NEAR(calibration_error(many, std::vector<int32_t>{0, 0}, first(2)), 0.75, 1e-6);
}

TEST(MeanAbsoluteError, SkipsMissingTargets) {
  Matrix prediction = Matrix::zeros(2, 2, MemoryTag::other), targets(2, 2, MemoryTag::other);
  float t[] = {1, kMissing, -2, 3};
  std::copy_n(t, 4, targets.data());
  EXPECT_NEAR(mean_absolute_error(prediction, targets, first(2)), 2.0, 1e-12);
}

TEST(MeanRocAuc, SkipsMissingTargetsAndLabelsOfOneClass) {
  Matrix logits(3, 2, MemoryTag::other), targets(3, 2, MemoryTag::other);
  float z[] = {1, 9, 2, 8, 3, 7}, t[] = {0, 1, 1, 1, kMissing, 1};
  std::copy_n(z, 6, logits.data());
  std::copy_n(t, 6, targets.data());
  EXPECT_EQ(mean_roc_auc(logits, targets, first(3)), 1.0);
}

TEST(Accuracy, CountsTheLargestLogitOrTheSignOfASingleOne) {
  Matrix logits(3, 2, MemoryTag::other);
  float z[] = {1, 2, 3, 0, 0, 1};
  std::copy_n(z, 6, logits.data());
  std::vector<int32_t> classes = {1, 0, 0};
  EXPECT_NEAR(accuracy(logits, classes, first(3)), 2.0 / 3, 1e-12);
  EXPECT_EQ(accuracy(logits, classes, first(2)), 1.0);
  EXPECT_TRUE(std::isnan(accuracy(logits, classes, {})));
  Matrix single(3, 1, MemoryTag::other);
  float s[] = {0.3F, -0.5F, 0.7F};
  std::copy_n(s, 3, single.data());
  EXPECT_NEAR(accuracy(single, classes, first(3)), 2.0 / 3, 1e-12);
  EXPECT_THROW(accuracy(single, classes, std::vector<NodeId>{3}), std::exception);
}

TEST(R2, IsOneForPerfectAndZeroForTheMean) {
  Matrix targets(4, 1, MemoryTag::other), mean(4, 1, MemoryTag::other);
  float t[] = {1, 2, 3, kMissing};
  std::copy_n(t, 4, targets.data());
  fill(mean, 2.0F);
  EXPECT_EQ(r2(targets, targets, first(3)), 1.0);
  EXPECT_EQ(r2(mean, targets, first(4)), 0.0);
  EXPECT_TRUE(std::isnan(r2(targets, targets, first(1))));
}

}  // namespace
}  // namespace spex
