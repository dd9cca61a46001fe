#include <spex/run/analysis.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "gradient_check.h"
#include "run/support.h"
#include "sample/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

// Random scores that add up to 1 in each row, as an estimator's do.
Scores normalised_scores(const AttentionGraph& graph, size_t layers) {
  Scores scores;
  for (size_t l = 0; l < layers; ++l) {
    Random random(9, Purpose::test, 3, static_cast<uint32_t>(l));
    std::vector<float> values(graph.edges());
    for (size_t i = 0; i < graph.nodes(); ++i) {
      double sum = 0;
      for (EdgeOffset e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e) {
        values[e] = static_cast<float>(std::exp(2 * random.normal(e)));
        sum += values[e];
      }
      for (EdgeOffset e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
        values[e] = static_cast<float>(values[e] / sum);
    }
    scores.layers.push_back(halves(values));
  }
  return scores;
}

struct NaiveAttention {
  std::vector<double> histogram = std::vector<double>(20, 0.0), top = std::vector<double>(10, 0.0);
  std::vector<double> by_type = std::vector<double>(3, 0.0);
  double entropy = 0;
};

NaiveAttention naive(const AttentionGraph& graph, const std::vector<float>& scores) {
  NaiveAttention sums;
  for (size_t i = 0; i < graph.nodes(); ++i) {
    std::vector<double> row(scores.begin() + static_cast<ptrdiff_t>(graph.offsets[i]),
                            scores.begin() + static_cast<ptrdiff_t>(graph.offsets[i + 1]));
    double entropy = 0;
    for (double p : row) entropy -= p > 0 ? p * std::log(p) : 0;
    for (size_t t = 0; t < 3; ++t)
      for (EdgeOffset e = graph.segment_begin(t, i); e < graph.segment_end(t, i); ++e)
        sums.by_type[t] += scores[e];
    double relative = row.size() > 1 ? entropy / std::log(static_cast<double>(row.size())) : 0;
    sums.histogram[static_cast<size_t>(std::clamp(relative * 20, 0.0, 19.0))] += 1;
    sums.entropy += entropy / static_cast<double>(graph.nodes());
    std::sort(row.begin(), row.end(), std::greater<>());
    row.resize(10, 0.0);
    std::partial_sum(row.begin(), row.end(), row.begin());
    for (size_t k = 0; k < 10; ++k) sums.top[k] += row[k] / static_cast<double>(graph.nodes());
  }
  double total = std::accumulate(sums.by_type.begin(), sums.by_type.end(), 0.0);
  for (double& share : sums.by_type) share /= total;
  return sums;
}

TEST(AttentionAnalysis, MatchesTheNaiveSums) {
  AttentionGraph graph = random_graph(random_degrees(5000, 40));
  Scores scores = normalised_scores(graph, 2);
  std::vector<size_t> degrees = {5, 3, 2};
  auto layers = analyse_attention(scores, graph, degrees);
  ASSERT_EQ(layers.size(), 3U);
  for (size_t l = 0; l < 3; ++l) {
    SCOPED_TRACE(l);
    NaiveAttention expected = naive(graph, floats(scores.layer(l)));
    EXPECT_NEAR(layers[l].mean_entropy, expected.entropy, 1e-5);
    EXPECT_EQ(std::accumulate(layers[l].entropy_histogram.begin(),
                              layers[l].entropy_histogram.end(), 0.0),
              5000.0);
    for (size_t b = 0; b < 20; ++b)  // a node may stand on the edge of two bins
      EXPECT_NEAR(layers[l].entropy_histogram[b], expected.histogram[b], 2) << b;
    for (size_t k = 0; k < 10; ++k) EXPECT_NEAR(layers[l].top_sums[k], expected.top[k], 1e-5);
    for (size_t t = 0; t < 3; ++t)
      EXPECT_NEAR(layers[l].share_by_type[t], expected.by_type[t], 1e-6);
    size_t kept = 0;
    for (size_t i = 0; i < graph.nodes(); ++i)
      kept += std::min<size_t>(degrees[l], graph.offsets[i + 1] - graph.offsets[i]);
    EXPECT_EQ(layers[l].edges_kept, kept);
  }
}

TEST(AttentionAnalysis, EvenScoresHaveTheLargestEntropyAndOneNeighbourHasNone) {
  AttentionGraph graph = random_graph({3, 0});
  Scores scores;
  scores.layers.push_back(halves({0.25F, 0.25F, 0.25F, 0.25F, 1.0F}));
  auto layers = analyse_attention(scores, graph, std::vector<size_t>{2});
  EXPECT_NEAR(layers[0].mean_entropy, std::log(4.0) / 2, 1e-6);
  EXPECT_EQ(layers[0].entropy_histogram.front(), 1.0);
  EXPECT_EQ(layers[0].entropy_histogram.back(), 1.0);
  EXPECT_EQ(layers[0].edges_kept, 3U);
  EXPECT_EQ(layers[0].tied, 0.0) << "a flat row is no tie";
}

TEST(AttentionAnalysis, CountsNodesWithSeveralNeighboursAtTheLargestScore) {
  AttentionGraph graph = random_graph({3, 3, 0, 2});
  Scores scores;
  scores.layers.push_back(halves({0.4F, 0.4F, 0.1F, 0.1F,    // tied, four times the least
                                  0.6F, 0.2F, 0.1F, 0.1F,    // one is the largest
                                  1.0F,                      // a single edge
                                  0.375F, 0.375F, 0.25F}));  // nearly flat
  auto layers = analyse_attention(scores, graph, std::vector<size_t>{2});
  EXPECT_EQ(layers[0].tied, 0.25);
}

TEST(DegreeAnalysis, CountsEveryNodeInTheBinOfItsDegree) {
  Dataset data = small_mines(10);
  RunDetails details;
  analyse_degrees(details, data.graph);
  ASSERT_EQ(details.degree_bounds.size(), details.degree_histogram.size() + 1);
  for (size_t b = 0; b < details.degree_histogram.size(); ++b) {
    size_t expected = 0;
    for (size_t i = 0; i < data.nodes(); ++i)
      expected += data.graph.degree(i) >= details.degree_bounds[b] &&
                  data.graph.degree(i) < details.degree_bounds[b + 1];
    EXPECT_EQ(details.degree_histogram[b], expected) << b;
  }
  EXPECT_EQ(std::accumulate(details.degree_histogram.begin(), details.degree_histogram.end(), 0U),
            100U);
  EXPECT_GT(details.degree_histogram.back(), 0U) << "no empty bins at the end";
}

TEST(PredictionAnalysis, ConfusionMatrixCountsTestNodesByTrueAndPredictedClass) {
  Dataset data;
  data.labels = {Task::classes, 3, shared<int32_t>({0, 1, 2, 2, -1}), {}};
  std::vector<NodeId> test = {1, 2, 3, 4};
  Matrix logits = Matrix::zeros(4, 3, MemoryTag::other);
  logits(0, 1) = logits(1, 2) = logits(2, 0) = logits(3, 1) = 1;
  RunDetails details;
  analyse_predictions(details, data, logits, test);
  EXPECT_EQ(details.confusion, (std::vector<std::vector<size_t>>{{0, 0, 0}, {0, 1, 0}, {1, 0, 1}}));
  EXPECT_TRUE(details.roc_true_positive.empty());
}

// Six nodes by hand: the logits -3, 1, -2, 2, -1 and 0.5 of the classes 0, 0, 0, 1, 1 and unknown.
TEST(PredictionAnalysis, OfTwoClassesCountsThresholdsAndProbabilities) {
  Dataset data;
  data.labels = {Task::classes, 2, shared<int32_t>({0, 0, 0, 1, 1, -1}), {}};
  data.class_names = {"no", "yes"};
  std::vector<NodeId> test = {0, 1, 2, 3, 4, 5};
  Matrix logits(6, 1, MemoryTag::other);
  const float values[] = {-3.0F, 1.0F, -2.0F, 2.0F, -1.0F, 0.5F};
  std::copy(std::begin(values), std::end(values), logits.data());
  RunDetails details;
  analyse_predictions(details, data, logits, test);
  EXPECT_EQ(details.confusion, (std::vector<std::vector<size_t>>{{2, 1}, {1, 1}}));
  EXPECT_EQ(details.recall, (std::vector<double>{0.5, 0.5, 1.0, 1.0, 1.0}));
  EXPECT_EQ(details.precision, (std::vector<double>{1.0, 0.5, 2.0 / 3, 0.5, 0.4}));
  auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
  ASSERT_EQ(details.calibration_nodes, (std::vector<size_t>{1, 1, 1, 1, 1}));
  EXPECT_EQ(details.calibration_right, (std::vector<double>{0, 0, 1, 0, 1}));
  EXPECT_NEAR(details.calibration_predicted[2], sigmoid(-1), 1e-6);
}

TEST(PredictionAnalysis, OfQuantitiesKeepsPairsOfTrueAndPredicted) {
  Dataset data;
  data.labels = {Task::regression, 1, {}, shared<float>({1.0F, 2.0F, NAN, 4.0F})};
  std::vector<NodeId> test = {0, 1, 2, 3};
  Matrix predicted(4, 1, MemoryTag::other);
  const float values[] = {1.5F, 0.0F, 9.0F, 4.0F};
  std::copy(std::begin(values), std::end(values), predicted.data());
  RunDetails details;
  analyse_predictions(details, data, predicted, test);
  EXPECT_EQ(details.true_values, (std::vector<double>{1, 2, 4}));
  EXPECT_EQ(details.predicted_values, (std::vector<double>{1.5, 0, 4}));
}

TEST(PredictionAnalysis, OneAnswerForAllIsTheCommonestClassOrTheMean) {
  Labels classes{Task::classes, 3, shared<int32_t>({2, 2, 1, 0, 2, 1}), {}};
  Split split{shared<NodeId>({0, 1, 2}), shared<NodeId>({3}), shared<NodeId>({3, 4, 5})};
  EXPECT_NEAR(constant_score(classes, Metric::accuracy, split, 6), 1.0 / 3, 1e-12);
  Labels two{Task::classes, 2, shared<int32_t>({1, 1, 0, 0, 1, 1}), {}};
  EXPECT_NEAR(constant_score(two, Metric::accuracy, split, 6), 2.0 / 3, 1e-12);
  Labels real{Task::regression, 1, {}, shared<float>({1, 2, 3, 1, 2, 3})};
  EXPECT_NEAR(constant_score(real, Metric::automatic, split, 6), 0.0, 1e-6);
}

TEST(PredictionAnalysis, AreaUnderTheRocCurveIsRocAuc) {
  Dataset data = small_mines(40);
  std::vector<NodeId> test(data.nodes());
  std::iota(test.begin(), test.end(), 0U);
  Matrix logits = random_matrix(data.nodes(), 1, 5);
  for (size_t i = 0; i < data.nodes(); ++i) logits(i, 0) += 0.8F * data.labels.classes[i];
  RunDetails details;
  analyse_predictions(details, data, logits, test);
  ASSERT_GT(details.roc_true_positive.size(), 50U);
  EXPECT_EQ(details.roc_true_positive.back(), 1.0);
  EXPECT_EQ(details.roc_false_positive.back(), 1.0);
  double area = 0, above = 0, pairs = 0;
  for (size_t i = 1; i < details.roc_true_positive.size(); ++i)
    area += (details.roc_false_positive[i] - details.roc_false_positive[i - 1]) *
            (details.roc_true_positive[i] + details.roc_true_positive[i - 1]) / 2;
  for (size_t i = 0; i < data.nodes(); ++i)
    for (size_t j = 0; j < data.nodes(); ++j)
      if (data.labels.classes[i] == 1 && data.labels.classes[j] == 0) {
        above += logits(i, 0) > logits(j, 0);
        pairs += 1;
      }
  EXPECT_NEAR(area, above / pairs, 0.005);  // the curve has about 200 points
  EXPECT_GT(area, 0.65);
}

TEST(PredictionAnalysis, MistakesAreTheSurestWrongTestNodesByTheirKeys) {
  Dataset data;
  auto keys = std::make_shared<std::vector<uint64_t>>(std::vector<uint64_t>{10, 20, 30, 40, 50});
  auto classes = std::make_shared<std::vector<int32_t>>(std::vector<int32_t>{0, 1, 1, -1, 0});
  data.labels.outputs = 2;
  data.labels.classes = {*classes, classes};
  Predictions predictions;
  predictions.nodes = {0, 1, 2, 3, 4};
  predictions.keys.numbers = {*keys, keys};
  predictions.meaning = {Task::classes, {"no", "yes"}};
  predictions.values = Matrix(5, 2, MemoryTag::other);
  // Right, wrong, surely wrong, unknown, and surely wrong but not asked for.
  for (size_t i = 0; i < 5; ++i) {
    predictions.values(i, 1) = std::vector<float>{0.1F, 0.25F, 0.125F, 0.9F, 1.0F}[i];
    predictions.values(i, 0) = 1 - predictions.values(i, 1);
  }
  RunDetails details;
  std::vector<NodeId> test = {0, 1, 2, 3};
  EXPECT_EQ(analyse_mistakes(details, data, predictions, test), (std::vector<NodeId>{2, 1}));
  ASSERT_EQ(details.mistakes.size(), 2U);
  EXPECT_EQ(details.mistakes[0].node, "30");
  EXPECT_EQ(details.mistakes[0].truth, "yes");
  EXPECT_EQ(details.mistakes[0].prediction, "no");
  EXPECT_EQ(details.mistakes[0].size, 0.875);
  EXPECT_EQ(details.mistakes[1].node, "20");

  auto values = std::make_shared<std::vector<float>>(std::vector<float>{5, 5, 5, NAN, 5});
  data.labels = {Task::regression, 1, {}, {*values, values}};
  predictions.meaning = {Task::regression, {"0"}};
  predictions.values = Matrix(5, 1, MemoryTag::other);
  std::iota(predictions.values.data(), predictions.values.data() + 5, 6.5F);
  details = {};
  analyse_mistakes(details, data, predictions, test);
  ASSERT_EQ(details.mistakes.size(), 3U);
  EXPECT_EQ(details.mistakes[0].node, "30");
  EXPECT_EQ(details.mistakes[0].prediction, "8.5");
  EXPECT_EQ(details.mistakes[0].size, 3.5);
}

}  // namespace
}  // namespace spex
