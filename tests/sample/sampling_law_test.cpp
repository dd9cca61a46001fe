// The law of the sample: every subset of k edges comes as often as it does when edges are drawn
// one after the other, without replacement, in proportion to the scores of those left.
#include <gtest/gtest.h>
#include <spex/sample/sampler.h>

#include <cmath>
#include <map>

#include "sample/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

constexpr size_t kNodes = 4000;
constexpr uint32_t kEpochs = 100;

using Law = std::map<uint32_t, double>;  // by subset, as a set of bits

// By enumerating all orders in which k edges can be drawn.
void enumerate(Law& law, const std::vector<double>& scores, size_t k, uint32_t drawn, double left,
               double probability) {
  if (k == 0) {
    law[drawn] += probability;
    return;
  }
  for (uint32_t e = 0; e < scores.size(); ++e)
    if (!(drawn >> e & 1))
      enumerate(law, scores, k - 1, drawn | 1U << e, left - scores[e],
                probability * scores[e] / left);
}

Law sequential_law(const std::vector<double>& scores, size_t k) {
  Law law;
  double sum = 0;
  for (double score : scores) sum += score;
  enumerate(law, scores, k, 0, sum, 1.0);
  return law;
}

// All nodes have the same five edges with the same scores; a trial is a node in an epoch.
struct Trials {
  explicit Trials(const std::vector<float>& row) {
    std::vector<float> all;
    for (size_t i = 0; i < kNodes; ++i) all.insert(all.end(), row.begin(), row.end());
    graph = random_graph(std::vector<size_t>(kNodes, row.size() - 1));
    scores.layers.push_back(halves(all));
    auto rounded = floats(scores.layers[0]);
    exact.assign(rounded.begin(), rounded.begin() + static_cast<ptrdiff_t>(row.size()));
  }
  std::map<uint32_t, size_t> counts(Sampling sampling, size_t k) const {
    Sampler sampler(graph, &scores, sampling, 3);
    std::map<uint32_t, size_t> counts;
    for (uint32_t epoch = 0; epoch < kEpochs; ++epoch)
      for (NodeId i = 0; i < kNodes; ++i) {
        uint32_t subset = 0;
        for (EdgeOffset e : draw(sampler, i, 0, k, epoch)) subset |= 1U << (e - graph.offsets[i]);
        ++counts[subset];
      }
    return counts;
  }
  AttentionGraph graph;
  Scores scores;
  std::vector<double> exact;  // the scores of one row, as 16-bit floats have them
};

struct ChiSquare {
  double statistic = 0;
  double bound = 0;  // exceeded with a probability of one in a million (Wilson and Hilferty)
};

// Cells with fewer than ten expected counts are taken together.
ChiSquare chi_square(const std::map<uint32_t, size_t>& counts, const Law& law) {
  double trials = double(kNodes) * kEpochs, rare_expected = 0, rare_seen = 0;
  ChiSquare result;
  size_t cells = 0;
  auto add = [&](double seen, double expected) {
    result.statistic += (seen - expected) * (seen - expected) / expected;
    ++cells;
  };
  for (auto [subset, probability] : law) {
    auto found = counts.find(subset);
    double seen = found == counts.end() ? 0 : static_cast<double>(found->second);
    if (probability * trials >= 10) {
      add(seen, probability * trials);
    } else {
      rare_expected += probability * trials;
      rare_seen += seen;
    }
  }
  if (rare_expected > 1) add(rare_seen, rare_expected);
  double freedom = static_cast<double>(cells) - 1, spread = 2 / (9 * freedom);
  result.bound = freedom * std::pow(1 - spread + 4.753 * std::sqrt(spread), 3);
  return result;
}

const std::vector<std::vector<float>> kRows = {
    {0.4F, 0.3F, 0.15F, 0.1F, 0.05F},  {0.999F, 0.0005F, 0.0003F, 0.0001F, 0.0001F},
    {0.2F, 0.2F, 0.2F, 0.2F, 0.2F},    {0.0F, 0.9F, 0.06F, 0.0F, 0.04F},
    {1e-6F, 2e-6F, 0.5F, 3e-6F, 0.5F},
};

TEST(SamplingLaw, WeightedIsSequentialSamplingWithoutReplacement) {
  for (const auto& row : kRows)
    for (size_t k : {2, 3}) {
      Trials trials(row);
      if (row[0] == 0.0F && k == 3) continue;  // exactly the three positive scores; tested below
      ChiSquare test =
          chi_square(trials.counts(Sampling::weighted, k), sequential_law(trials.exact, k));
      EXPECT_LT(test.statistic, test.bound) << "scores from " << row[0] << ", k " << k;
    }
}

TEST(SamplingLaw, UniformTakesEverySubsetAlike) {
  Trials trials(kRows[1]);
  for (size_t k : {2, 3}) {
    ChiSquare test =
        chi_square(trials.counts(Sampling::uniform, k), sequential_law({1, 1, 1, 1, 1}, k));
    EXPECT_LT(test.statistic, test.bound) << k;
  }
}

// The test must see laws that are nearly right, scores off by some percent, and uniform ones.
TEST(SamplingLaw, TheTestSeesAWrongLaw) {
  Trials trials(kRows[0]);
  auto counts = trials.counts(Sampling::weighted, 2);
  for (const std::vector<double>& wrong : std::vector<std::vector<double>>{
           {1, 1, 1, 1, 1}, {0.4, 0.3, 0.15, 0.103, 0.047}, {0.41, 0.3, 0.15, 0.1, 0.05}}) {
    ChiSquare test = chi_square(counts, sequential_law(wrong, 2));
    EXPECT_GT(test.statistic, test.bound) << wrong[0];
  }
  ChiSquare uniform =
      chi_square(trials.counts(Sampling::uniform, 2), sequential_law(trials.exact, 2));
  EXPECT_GT(uniform.statistic, 100 * uniform.bound);
}

TEST(SamplingLaw, ScoresOfZeroAreDrawnLastAndAlike) {
  Trials trials({0.0F, 0.9F, 0.0F, 6e-8F, 0.0F});
  auto counts = trials.counts(Sampling::weighted, 3);
  ASSERT_EQ(counts.size(), 3);
  double expected = double(kNodes) * kEpochs / 3;
  for (auto [subset, count] : counts) {
    EXPECT_EQ(subset & 0b01010U, 0b01010U);
    EXPECT_NEAR(static_cast<double>(count), expected, 5 * std::sqrt(expected));
  }
}

// How many edges two samples of ten out of forty have in common is hypergeometric.
template <class First, class Second>
void expect_independent(First first, Second second, const char* what) {
  constexpr double kTrials = 20000, kMean = 2.5, kVariance = 10 * 0.25 * 0.75 * 30 / 39;
  double sum = 0, squares = 0;
  for (NodeId i = 0; i < kTrials; ++i) {
    std::vector<EdgeOffset> a = first(i), b = second(i), both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    double excess = static_cast<double>(both.size()) - kMean;
    sum += excess;
    squares += excess * excess;
  }
  EXPECT_NEAR(sum / kTrials, 0, 5 * std::sqrt(kVariance / kTrials)) << what;
  EXPECT_NEAR(squares / kTrials, kVariance, 5 * std::sqrt(3 / kTrials) * kVariance) << what;
}

TEST(SamplingLaw, EpochsLayersSeedsAndNodesAreIndependent) {
  AttentionGraph graph = random_graph(std::vector<size_t>(20001, 39));
  Sampler sampler(graph, nullptr, Sampling::uniform, 3);
  Sampler other(graph, nullptr, Sampling::uniform, 4);
  Sampler far(graph, nullptr, Sampling::uniform, 3 + (uint64_t{1} << 32));
  auto from = [&](const Sampler& s, size_t layer, uint32_t epoch, NodeId step = 0) {
    return [&s, &graph, layer, epoch, step](NodeId i) {
      auto edges = draw(s, i + step, layer, 10, epoch);
      for (EdgeOffset& e : edges) e -= graph.offsets[i + step];
      return edges;
    };
  };
  auto here = from(sampler, 0, 0);
  expect_independent(here, from(sampler, 0, 1), "epochs");
  expect_independent(here, from(sampler, 1, 0), "layers");
  expect_independent(from(sampler, 1, 0), from(sampler, 0, 1), "epoch and layer exchanged");
  expect_independent(here, from(other, 0, 0), "seeds");
  expect_independent(here, from(far, 0, 0), "seeds that differ in the upper half");
  expect_independent(here, from(sampler, 0, 0, 1), "neighbouring nodes");
}

}  // namespace
}  // namespace spex
