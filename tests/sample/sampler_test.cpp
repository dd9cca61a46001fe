#include <gtest/gtest.h>
#include <spex/core/cpu.h>
#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/sample/sampler.h>

#include <numeric>

#include "sample/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

TEST(Sampler, TakesAllEdgesOfARowThatHasNoMoreThanK) {
  AttentionGraph graph = random_graph({0, 4, 5, 6});
  Scores scores = random_scores(graph, 1);
  for (Sampling sampling : {Sampling::weighted, Sampling::uniform, Sampling::top}) {
    Sampler sampler(graph, &scores, sampling, 1);
    EXPECT_EQ(draw(sampler, 0, 0, 6, 0), (std::vector<EdgeOffset>{0}));
    EXPECT_EQ(draw(sampler, 1, 0, 6, 0), (std::vector<EdgeOffset>{1, 2, 3, 4, 5}));
    EXPECT_EQ(draw(sampler, 2, 0, 6, 0), (std::vector<EdgeOffset>{6, 7, 8, 9, 10, 11}));
    EXPECT_EQ(draw(sampler, 3, 0, 6, 0).size(), 6);
  }
}

TEST(Sampler, DrawsDistinctEdgesOfTheRowInAscendingOrder) {
  AttentionGraph graph = random_graph({5, 40, 300, 3000, 0, 17});
  Scores scores = random_scores(graph, 1);
  for (Sampling sampling : {Sampling::weighted, Sampling::uniform, Sampling::top})
    for (NodeId i : {0U, 1U, 2U, 3U, 5U})
      for (size_t k : {1, 3, 5, 100}) {
        auto edges = draw(Sampler(graph, &scores, sampling, 1), i, 0, k, 0);
        size_t degree = graph.offsets[i + 1] - graph.offsets[i];
        ASSERT_EQ(edges.size(), std::min(k, degree));
        ASSERT_TRUE(std::adjacent_find(edges.begin(), edges.end(), std::greater_equal<>()) ==
                    edges.end());
        ASSERT_GE(edges.front(), graph.offsets[i]);
        ASSERT_LT(edges.back(), graph.offsets[i + 1]);
      }
}

TEST(Sampler, TopTakesTheLargestScoresAndOfEqualOnesTheFirst) {
  AttentionGraph graph = random_graph({5, 2000});
  std::vector<float> values(graph.edges());
  std::vector<float> row = {0.1F, 0.3F, 0.1F, 0.3F, 0.1F, 0.0F};
  std::copy(row.begin(), row.end(), values.begin());
  Random random(3, Purpose::test);
  for (size_t e = row.size(); e < values.size(); ++e)
    values[e] = static_cast<float>(random.below(50, e)) / 50;
  Scores scores;
  scores.layers.push_back(halves(values));
  Sampler sampler(graph, &scores, Sampling::top, 1);
  EXPECT_EQ(draw(sampler, 0, 0, 1, 0), (std::vector<EdgeOffset>{1}));
  EXPECT_EQ(draw(sampler, 0, 0, 3, 0), (std::vector<EdgeOffset>{0, 1, 3}));
  EXPECT_EQ(draw(sampler, 0, 0, 4, 9), (std::vector<EdgeOffset>{0, 1, 2, 3}));
  EXPECT_EQ(draw(sampler, 0, 0, 5, 9), (std::vector<EdgeOffset>{0, 1, 2, 3, 4}));

  std::vector<EdgeOffset> order(2001);
  std::iota(order.begin(), order.end(), EdgeOffset{6});
  std::stable_sort(order.begin(), order.end(),
                   [&](EdgeOffset a, EdgeOffset b) { return values[a] > values[b]; });
  order.resize(100);
  std::sort(order.begin(), order.end());
  EXPECT_EQ(draw(sampler, 1, 0, 100, 0), order);
}

std::vector<std::vector<EdgeOffset>> all_samples(const Sampler& sampler, size_t layer,
                                                 uint32_t epoch) {
  std::vector<std::vector<EdgeOffset>> samples(sampler.graph().nodes());
  parallel_for(samples.size(), 16, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      samples[i] = draw(sampler, static_cast<NodeId>(i), layer, 7, epoch);
  });
  return samples;
}

TEST(Sampler, GivesTheSameSampleForAnyNumberOfThreadsAndInstructionSet) {
  AttentionGraph graph = random_graph(random_degrees(3000, 300));
  Scores scores = random_scores(graph, 2);
  for (Sampling sampling : {Sampling::weighted, Sampling::uniform, Sampling::top}) {
    Sampler sampler(graph, &scores, sampling, 1);
    auto here = all_samples(sampler, 1, 5);
    for (int threads : {1, 2, 5}) {
      set_threads(threads);
      EXPECT_EQ(all_samples(sampler, 1, 5), here);
    }
    set_threads(0);
    Isa before = isa();
    for (Isa each : supported_isas()) {
      set_isa(each);
      EXPECT_EQ(all_samples(sampler, 1, 5), here) << name(each);
    }
    set_isa(before);
  }
}

TEST(Sampler, DiffersBetweenEpochsLayersAndSeeds) {
  AttentionGraph graph = random_graph(random_degrees(500, 100));
  Scores scores = random_scores(graph, 1);
  Sampler sampler(graph, &scores, Sampling::weighted, 1);
  auto here = all_samples(sampler, 0, 0);
  EXPECT_EQ(all_samples(sampler, 0, 0), here);
  EXPECT_NE(all_samples(sampler, 0, 1), here);
  EXPECT_NE(all_samples(sampler, 1, 0), here);
  EXPECT_NE(all_samples(Sampler(graph, &scores, Sampling::weighted, 2), 0, 0), here);
}

TEST(Sampler, OfTheGraphsOwnEdgesDrawsWhatTheAttentionsSamplerDoesNot) {
  AttentionGraph graph = random_graph(random_degrees(500, 100));
  auto attention = all_samples(Sampler(graph, nullptr, Sampling::uniform, 1), 0, 0);
  auto local = all_samples(Sampler::with_self_loops(graph, 1), 0, 0);
  size_t same = 0, rows = 0;
  for (size_t i = 0; i < local.size(); ++i) {
    if (graph.offsets[i + 1] - graph.offsets[i] < 20) continue;
    std::vector<EdgeOffset> drawn(local[i].begin(), local[i].end() - 1);
    same += drawn == attention[i] ? 1 : 0;
    ++rows;
  }
  EXPECT_GT(rows, 100U);
  EXPECT_LT(same, rows / 10);
}

TEST(Sampler, LayersBeyondTheScoresUseTheLastOnes) {
  AttentionGraph graph = random_graph(random_degrees(100, 60));
  Scores two = random_scores(graph, 2);
  Scores four = two;
  four.layers.resize(4, two.layers[1]);
  for (Sampling sampling : {Sampling::weighted, Sampling::top})
    for (size_t layer : {0, 1, 2, 3})
      EXPECT_EQ(all_samples(Sampler(graph, &two, sampling, 1), layer, 0),
                all_samples(Sampler(graph, &four, sampling, 1), layer, 0));
}

TEST(Sampler, EveryLayerDrawsByItsOwnScores) {
  AttentionGraph graph = random_graph(random_degrees(100, 60));
  Scores both = random_scores(graph, 2), second;
  second.layers = {both.layers[1]};
  auto drawn = all_samples(Sampler(graph, &both, Sampling::top, 1), 1, 0);
  EXPECT_EQ(drawn, all_samples(Sampler(graph, &second, Sampling::top, 1), 0, 0));
  EXPECT_NE(drawn, all_samples(Sampler(graph, &both, Sampling::top, 1), 0, 0));
}

TEST(Sampler, RefusesScoresThatAreMissingOrOfAnotherSize) {
  AttentionGraph graph = random_graph({3, 4, 5}), other = random_graph({3, 4, 6});
  Scores scores = random_scores(other, 1), empty;
  EXPECT_THROW(Sampler(graph, nullptr, Sampling::weighted, 1), Error);
  EXPECT_THROW(Sampler(graph, nullptr, Sampling::top, 1), Error);
  EXPECT_THROW(Sampler(graph, &scores, Sampling::weighted, 1), Error);
  EXPECT_THROW(Sampler(graph, &empty, Sampling::weighted, 1), Error);
  EXPECT_NO_THROW(Sampler(graph, nullptr, Sampling::uniform, 1));
}

}  // namespace
}  // namespace spex
