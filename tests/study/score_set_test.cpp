#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/data/fingerprint.h>
#include <spex/study/score_set.h>

#include <algorithm>
#include <cmath>

#include "study/attention_samples.h"
#include "study/support.h"
#include "study/training.h"
#include "study/wide_attention.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT
namespace fs = std::filesystem;

size_t count_files(const fs::path& folder) {
  size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    count += entry.path().extension() == ".safetensors";
  return count;
}

TEST(ScoreSet, RowsAddUpToOneInEveryScenario) {
  TemporaryFolder folder;
  for (const ScoreSet& set : make_score_sets(quick_request(folder.path))) {
    ASSERT_EQ(set.widths.size(), 2u);
    std::vector<float> row;
    for (const WidthScores& width : set.widths)
      for (const Scores& scores : width.seeds)
        for (size_t l = 0; l < set.layers; ++l)
          for (NodeId node : set.rows) {
            load_row(row, set, scores, l, node);
            ASSERT_GE(row.size(), 2u);
            float sum = 0;
            for (float value : row) sum += value;
            EXPECT_NEAR(sum, 1.0F, 2e-3F);
          }
    bool alone = set.scenario == Scenario::graph;
    EXPECT_EQ(set.graph.edges() == quick_request(folder.path).data.graph.edges(), alone);
  }
}

TEST(ScoreSet, IsTrainedOnce) {
  TemporaryFolder folder;
  StudyRequest request = quick_request(folder.path);
  size_t epochs = 0;
  request.hooks.on_epoch = [&](const EpochRecord&, size_t) { ++epochs; };
  make_score_set(request, Scenario::graph);
  EXPECT_EQ(epochs, 2u * 2 * 3 * 2);  // epochs, widths, learning rates, seeds
  epochs = 0;
  make_score_set(request, Scenario::graph);
  EXPECT_EQ(epochs, 0u);
  request.seeds = 3;
  make_score_set(request, Scenario::graph);
  EXPECT_EQ(epochs, 2u * 2);  // one more seed of each width
}

TEST(ScoreSet, GoesOnWhereItWasStopped) {
  TemporaryFolder folder;
  StudyRequest request = quick_request(folder.path);
  size_t epochs = 0;
  request.hooks.on_epoch = [&](const EpochRecord&, size_t) { ++epochs; };
  request.hooks.stop = [&] { return epochs == 9; };  // in the middle of the fifth training
  EXPECT_THROW(make_score_set(request, Scenario::graph), Error);
  EXPECT_EQ(count_files(folder.path), 4u);
  request.hooks.stop = {};
  epochs = 0;
  ScoreSet set = make_score_set(request, Scenario::graph);
  EXPECT_EQ(epochs, 2u * (2 * 3 * 2 - 4));
  EXPECT_EQ(set.widths.back().seeds.size(), 2u);
}

// Gives the networks of a rate these metrics, whatever they reached.
void write_metrics(const fs::path& folder, const std::string& rate, const std::string& validation,
                   const std::string& test, const ScoreSet& set, uint64_t fingerprint) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().parent_path().filename() != "rate-" + rate) continue;
    Scores scores = load_scores(entry.path(), set.graph, fingerprint);
    scores.metadata["validation"] = validation;
    scores.metadata["test"] = test;
    save_scores(entry.path(), scores, fingerprint);
  }
}

TEST(ScoreSet, TheLearningRateIsChosenByValidation) {
  TemporaryFolder folder;
  StudyRequest request = quick_request(folder.path);
  ScoreSet set = make_score_set(request, Scenario::graph);
  uint64_t own = run_fingerprint(set.graph, fingerprint(request.data));
  write_metrics(folder.path, "0.003", "0.5", "0.7", set, own);
  write_metrics(folder.path, "0.01", "0.6", "0.8", set, own);
  write_metrics(folder.path, "0.03", "0.6", "0.9", set, own);
  for (const WidthScores& width : make_score_set(request, Scenario::graph).widths) {
    EXPECT_EQ(width.learning_rate, 0.01) << "the smaller of equals";
    EXPECT_EQ(width.test, (std::vector<double>{0.8, 0.8}));
  }
}

TEST(ScoreSet, RefusesNetworksOfOtherSettings) {
  TemporaryFolder folder;
  StudyRequest request = quick_request(folder.path);
  make_score_set(request, Scenario::graph);
  apply_setting(request.config, "estimator.epochs=3");
  EXPECT_THROW(make_score_set(request, Scenario::graph), Error);
}

TEST(References, AreUniformAndTheSoftmaxOfBoundedLogits) {
  TemporaryFolder folder;
  StudyRequest request = quick_request(folder.path);
  request.seeds = 1;
  ScoreSet set = make_score_set(request, Scenario::graph);
  std::vector<float> row, other;
  for (NodeId node : set.rows) {
    reference_row(row, Reference::uniform, set, 0, 0, node);
    for (float value : row) EXPECT_FLOAT_EQ(value, 1.0F / static_cast<float>(row.size()));
    reference_row(row, Reference::random, set, 0, 0, node);
    reference_row(other, Reference::random, set, 0, 1, node);
    EXPECT_NE(row, other);
    reference_row(other, Reference::random, set, 1, 0, node);
    EXPECT_NE(row, other) << "another layer";
    if (node != set.rows.front()) {
      reference_row(other, Reference::random, set, 0, 0, set.rows.front());
      EXPECT_NE(row, other) << "another node";
    }
    float sum = 0, most = 0, least = 1;
    for (float value : row)
      sum += value, most = std::max(most, value), least = std::min(least, value);
    EXPECT_NEAR(sum, 1.0F, 1e-5F);
    EXPECT_LE(most / least, std::exp(16.001F));
  }
}

// The scores made of parts are those of the network itself, which the projection starts from.
TEST(WideAttention, UnprojectedScoresAreTheNetworks) {
  StudyRequest request = quick_request("unused");
  for (const char* setting : {"estimator.modulation=elementwise", "estimator.modulation=sum",
                              "estimator.expander_bias=-1.5"}) {
    apply_setting(request.config, setting);
    tell_scorers(request.config);
    Problem problem = make_problem(request.data, request.config);
    const Phase& phase = request.config.phases.front();
    TrainedNetwork network = train_network(phase, problem, request.config, 1, {});
    constexpr float kTemperature = 0.7F;
    Scores scores = attention_scores(*network.model, phase, problem, kTemperature);
    auto layers = attention_parts(*network.model, phase, problem, kTemperature);
    ASSERT_EQ(layers.size(), scores.layers.size());
    for (size_t l = 0; l < layers.size(); ++l) {
      EdgeLogits made = edge_logits(layers[l], problem.attention, 0, 0);
      to_scores(made.logits, problem.attention);
      std::vector<float> expected(made.logits.size());
      to_float(expected, scores.layers[l].span());
      for (size_t e = 0; e < expected.size(); ++e)
        ASSERT_NEAR(made.logits[e], expected[e], 1e-3F * expected[e] + 1e-6F) << setting;
    }
  }
}

// With as many random directions as one likes, nothing is lost.
TEST(WideAttention, ProjectionErrorFallsWithTheWidth) {
  StudyRequest request = quick_request("unused");
  tell_scorers(request.config);
  Problem problem = make_problem(request.data, request.config);
  const Phase& phase = request.config.phases.front();
  auto model = phase.model->make(shape_of(problem, request.config), 1);
  AttentionParts parts = std::move(attention_parts(*model, phase, problem, 1.0F).front());
  EdgeLogits exact = edge_logits(parts, problem.attention, 0, 0);
  std::vector<double> errors;
  for (size_t width : {16, 4096}) {
    EdgeLogits narrow = edge_logits(parts, problem.attention, width, 1);
    double worst = 0;
    for (size_t e = 0; e < exact.logits.size(); ++e)
      worst =
          std::max<double>(worst, std::abs(narrow.logits[e] - exact.logits[e]) / exact.lengths[e]);
    errors.push_back(worst);
  }
  EXPECT_LT(errors[1], 0.1);
  EXPECT_GT(errors[0], 3 * errors[1]);
}

}  // namespace
}  // namespace spex
