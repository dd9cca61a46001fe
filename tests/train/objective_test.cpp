#include <spex/train/metrics.h>
#include <spex/train/objective.h>

#include <cmath>
#include <limits>

#include "gradient_check.h"
#include "run/support.h"
#include "sample/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

Labels classes_of(size_t count, std::vector<int32_t> classes) {
  return {Task::classes, count, shared(classes), {}};
}
Labels values_of(Task task, size_t outputs, std::vector<float> values) {
  return {task, outputs, {}, shared(values)};
}

TEST(Objective, TwoClassesBecomeOneLogitJudgedByRocAuc) {
  Labels labels = classes_of(2, {0, 1, 1, 0});
  Objective objective(labels, Metric::automatic);
  EXPECT_EQ(objective.outputs(), 1U);
  EXPECT_EQ(objective.metric(), Metric::roc_auc);
  Objective by_accuracy(labels, Metric::accuracy);
  EXPECT_EQ(by_accuracy.outputs(), 1U);
  Matrix logits(4, 1, MemoryTag::other);
  for (size_t i = 0; i < 4; ++i) logits(i, 0) = static_cast<float>(i) - 0.5F;
  std::vector<NodeId> all = {0, 1, 2, 3};
  EXPECT_EQ(by_accuracy.score(logits, all), 0.75);
  EXPECT_EQ(objective.score(logits, all), 0.5);
}

// Three training nodes of class 0 and one of class 1 weigh 2/3 and 2.
TEST(Objective, BalancedClassesCountTheSame) {
  Labels labels = classes_of(3, {0, 0, 0, 1, 2});
  Objective objective(labels, Metric::automatic);
  Matrix logits = random_matrix(5, 3, 1);
  std::vector<NodeId> train = {0, 1, 2, 3};
  auto loss_of = [&](std::span<const NodeId> rows) {
    Tape tape;
    return objective.loss(tape, tape.constant(logits.view()), {}, rows).value()(0, 0);
  };
  double plain[4], expected = 0;
  for (NodeId i : train) plain[i] = loss_of(std::vector<NodeId>{i});
  for (NodeId i : train) expected += plain[i] * (i == 3 ? 2.0 : 2.0 / 3) / 4;
  objective.balance(train);
  EXPECT_NEAR(loss_of(train), expected, 1e-6);
  std::vector<NodeId> batch = {3, 1};
  Matrix part(2, 3, MemoryTag::other);
  for (size_t i = 0; i < 2; ++i) copy(part.view().block(i, 1), logits.view().block(batch[i], 1));
  Tape tape;
  Var loss = objective.loss(tape, tape.constant(part.view()), batch, std::vector<NodeId>{0, 1});
  EXPECT_NEAR(loss.value()(0, 0), (plain[3] * 2 + plain[1] * 2.0 / 3) / 2, 1e-6);
}

// Class 0 has 3 of 4 training nodes and, one added to each class, 2 of 8 validation nodes; class 1
// has 1 and 5; class 2 is not trained.
TEST(Objective, AdaptedLogitsAreOfTheSharesOfValidationNodes) {
  Labels labels = classes_of(3, {0, 0, 0, 1, 0, 1, 1, 1, 1});
  std::vector<NodeId> train = {0, 1, 2, 3}, validation = {4, 5, 6, 7, 8};
  Objective objective(labels, Metric::automatic), plain(labels, Metric::automatic);
  objective.adapt(train, validation);
  Matrix logits = random_matrix(9, 3, 1), shifted(9, 3, MemoryTag::other);
  for (size_t i = 0; i < 9; ++i) {
    shifted(i, 0) = logits(i, 0) - std::log(0.25F / 0.75F);
    shifted(i, 1) = logits(i, 1) - std::log(0.625F / 0.25F);
    shifted(i, 2) = logits(i, 2);
  }
  Tape tape;
  Var loss = objective.loss(tape, tape.constant(logits.view()), {}, train);
  Var expected = plain.loss(tape, tape.constant(shifted.view()), {}, train);
  EXPECT_NEAR(loss.value()(0, 0), expected.value()(0, 0), 1e-6);
  EXPECT_EQ(objective.score(logits, validation), plain.score(logits, validation)) << "no shift";
}

// Of two classes there is one logit, of the second against the first.
TEST(Objective, AdaptsTheOneLogitOfTwoClasses) {
  Labels labels = classes_of(2, {0, 1, 1, 1, 1});
  std::vector<NodeId> train = {0, 1}, validation = {2, 3};
  Objective objective(labels, Metric::accuracy), plain(labels, Metric::accuracy);
  objective.adapt(train, validation);
  Matrix logits = random_matrix(5, 1, 1), shifted(5, 1, MemoryTag::other);
  for (size_t i = 0; i < 5; ++i) shifted(i, 0) = logits(i, 0) - std::log(3.0F);
  Tape tape;
  EXPECT_NEAR(objective.loss(tape, tape.constant(logits.view()), {}, train).value()(0, 0),
              plain.loss(tape, tape.constant(shifted.view()), {}, train).value()(0, 0), 1e-6);
}

TEST(Objective, EveryMetricThatFitsIsNamed) {
  Labels labels = classes_of(2, {0, 1, 1, 0});
  Matrix logits = random_matrix(4, 1, 1);
  std::vector<NodeId> all = {0, 1, 2, 3};
  std::vector<std::string> names;
  for (const auto& each : Objective(labels, Metric::automatic).all_scores(logits, all))
    names.push_back(each.name);
  EXPECT_EQ(names, (std::vector<std::string>{"accuracy", "macro_f1", "roc_auc", "average_precision",
                                             "calibration_error"}));
  Labels real = values_of(Task::regression, 1, {1, 2, 3, 4});
  Objective by_distance(real, Metric::mae);
  EXPECT_LT(by_distance.score(logits, all), 0.0) << "the larger, the better";
}

TEST(Objective, TaskDecidesOutputsAndMetric) {
  Labels many = classes_of(5, {0, 1, 2, 3, 4});
  EXPECT_EQ(Objective(many, Metric::automatic).outputs(), 5U);
  EXPECT_EQ(Objective(many, Metric::automatic).metric(), Metric::accuracy);
  Labels binary = values_of(Task::binary_labels, 2, {0, 1, 1, 0});
  EXPECT_EQ(Objective(binary, Metric::automatic).outputs(), 2U);
  EXPECT_EQ(Objective(binary, Metric::automatic).metric(), Metric::roc_auc);
  Labels real = values_of(Task::regression, 1, {0.5F, 1.5F});
  EXPECT_EQ(Objective(real, Metric::automatic).metric(), Metric::r2);
}

TEST(Objective, RefusesAMetricThatDoesNotFitTheLabels) {
  Labels many = classes_of(5, {0, 1, 2, 3, 4});
  EXPECT_SAYS(Objective(many, Metric::roc_auc), "the metric roc_auc does not fit labels with 5");
  EXPECT_SAYS(Objective(many, Metric::r2), "leave split.metric at auto");
  Labels real = values_of(Task::regression, 1, {0.5F});
  EXPECT_SAYS(Objective(real, Metric::accuracy), "does not fit");
  Labels one = classes_of(1, {0, 0});
  EXPECT_SAYS(Objective(one, Metric::automatic), "all labels are of one class");
  Labels none;
  EXPECT_SAYS(Objective(none, Metric::automatic), "no labels to learn");
}

// A batch of targets in any order has the loss of the same rows of the whole.
TEST(Objective, BatchLossIsTheLossOfItsTargets) {
  std::vector<float> values = {0, 1, 1, kMissing, 0, 0, 1, 1, 0, 1, 1, 0};
  for (const Labels& labels :
       {classes_of(3, {2, 0, 1, 1, 0, 2}), classes_of(2, {1, 0, 1, 1, 0, 0}),
        values_of(Task::binary_labels, 2, values), values_of(Task::regression, 2, values)}) {
    Objective objective(labels, Metric::automatic);
    Matrix logits = random_matrix(6, objective.outputs(), 3);
    std::vector<NodeId> targets = {4, 1, 2}, places = {0, 1, 2};
    Matrix rows(3, logits.cols(), MemoryTag::other);
    for (size_t i = 0; i < 3; ++i)
      copy(rows.view().block(i, 1), logits.view().block(targets[i], 1));
    Tape tape(false);
    double whole = objective.loss(tape, tape.constant(logits.view()), {}, targets).value()(0, 0);
    double batch = objective.loss(tape, tape.constant(rows.view()), targets, places).value()(0, 0);
    EXPECT_NEAR(batch, whole, 1e-6);
    std::vector<NodeId> others = {0, 3, 5};
    EXPECT_GT(
        std::abs(objective.loss(tape, tape.constant(logits.view()), {}, others).value()(0, 0) -
                 whole),
        1e-3);
  }
}

TEST(Objective, LearnsScaledTargetsAndIsJudgedByThemAsTheyAre) {
  Labels labels = values_of(Task::regression, 1, {4990, 5000, 5020, kMissing});
  ColumnScaling scaling{{5000}, {0.1}};
  Objective objective(labels, Metric::automatic, scaling);
  Matrix outputs(4, 1, MemoryTag::other);
  for (size_t i = 0; i < 4; ++i) outputs(i, 0) = std::vector<float>{-1, 0, 2, 7}[i];
  std::vector<NodeId> rows = {0, 1, 2};
  Tape tape(false);
  EXPECT_EQ(objective.score(outputs, rows), 1.0);
  EXPECT_EQ(objective.loss(tape, tape.constant(outputs.view()), {}, rows).value()(0, 0), 0.0F);
  outputs(1, 0) = 3;  // 5030 in place of 5000
  EXPECT_NEAR(objective.loss(tape, tape.constant(outputs.view()), {}, rows).value()(0, 0), 3.0,
              1e-6);
  EXPECT_NEAR(objective.score(outputs, rows), 1 - 900 / (1400 / 3.0), 1e-5);
}

}  // namespace
}  // namespace spex
