#include "report/findings.h"

#include <gtest/gtest.h>
#include <spex/core/error.h>

#include "example_record.h"

namespace spex {
namespace {

bool says(const RunRecord& record, const std::string& part) {
  for (const std::string& sentence : findings(record))
    if (sentence.find(part) != std::string::npos) return true;
  return false;
}

TEST(Findings, AreNoneWhereThereIsNothingToSay) {
  RunRecord record = example::record();
  for (const std::string& sentence : findings(record)) ADD_FAILURE() << sentence;
  EXPECT_TRUE(findings(RunRecord{}).empty());
}

TEST(Findings, SayThatABaselineIsBetter) {
  RunRecord record = example::record();
  record.summary.estimator_test = 0.92;
  EXPECT_TRUE(says(record, "The estimator alone is better: 92.0% against 89.5%."));
  record.details.constant_test = 0.9;
  EXPECT_TRUE(says(record, "no better than one answer for all nodes"));
  record.details.edgeless_test = 0.8;
  EXPECT_FALSE(says(record, "perceptron"));
  record.details.edgeless_test = 0.895;
  EXPECT_TRUE(says(record, "A perceptron that sees no edges is as good: 89.5% against 89.5%."));
  record.details.edgeless_test = 0.95;
  EXPECT_TRUE(says(record, "A perceptron that sees no edges is better: 95.0% against 89.5%."));
}

TEST(Findings, SayWhatAveragingGives) {
  RunRecord record = example::record();
  record.details.networks = {{0, 0.9, 0.87, 5}, {1, 0.9, 0.892, 7}};
  EXPECT_TRUE(says(record, "averaged: 89.5% on the test nodes, where one of them alone has 88.1%"));
}

TEST(Findings, SayThatTrainingWentOnTooLong) {
  RunRecord record = example::record();
  record.summary.seeds[0].best_epoch = 10;
  for (EpochRecord& row : record.epochs) {
    if (row.phase != "spexphormer" || row.seed != 0) continue;
    row.train_loss = 1.0 - 0.001 * static_cast<double>(row.epoch);
    row.validation = row.epoch == 10 ? 0.9 : 0.8;
  }
  EXPECT_TRUE(says(record, "Overfitting since epoch 10")) << "the best was at 10, the loss fell on";
  record.summary.seeds[0].best_epoch = 99;
  EXPECT_TRUE(says(record, "The last epoch was the best"));
}

TEST(Findings, SayWhatTheAttentionAndTheClassesShow) {
  RunRecord record = example::record();
  record.details.attention[1].entropy_histogram.assign(20, 0.0);
  record.details.attention[1].entropy_histogram.front() = 80;
  record.details.attention[1].entropy_histogram.back() = 20;
  EXPECT_TRUE(says(record, "In layer 2 80.0% of the nodes look at a single neighbour."));
  record.details.attention[0].tied = 0.27;
  EXPECT_TRUE(says(record, "In layer 1 27.0% of the nodes have several neighbours with the same"));
  record.details.confusion = {{100, 0}, {20, 0}};
  EXPECT_TRUE(says(record, "Never found among the test nodes: mine."));
  record.details.confusion = {{100, 0}, {0, 0}};
  EXPECT_FALSE(says(record, "Never found")) << "no test node is of that class";
  record.summary.test_std = 0.05;
  EXPECT_TRUE(says(record, "The seeds differ by 5.0%"));
}

}  // namespace
}  // namespace spex
