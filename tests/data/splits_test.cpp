#include <spex/core/random.h>
#include <spex/data/splits.h>
#include <spex/data/validate.h>

#include <algorithm>

#include "data/draft.h"
#include "support.h"

namespace spex {
namespace {

using namespace test;

Labels labels(size_t nodes, size_t classes, size_t unknown = 0) {
  std::vector<int32_t> values(nodes);
  for (size_t i = 0; i < nodes; ++i)
    values[i] = i < unknown ? -1 : static_cast<int32_t>(i % classes);
  return {Task::classes, classes, share(std::move(values)), {}};
}

std::vector<NodeId> all_of(const Split& split) {
  std::vector<NodeId> nodes;
  for (const auto* part : {&split.train, &split.validation, &split.test}) {
    EXPECT_TRUE(std::is_sorted(part->begin(), part->end()));
    nodes.insert(nodes.end(), part->begin(), part->end());
  }
  std::sort(nodes.begin(), nodes.end());
  EXPECT_EQ(std::adjacent_find(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

TEST(Splits, RandomSplitsHaveTheirSharesAndCoverAll) {
  for (const char* text : {"60/20/20", "50/25/25", "10/10/80"}) {
    SplitRatio ratio = parse_ratio(text);
    Split split = random_split(labels(1000, 3), ratio, 5);
    EXPECT_EQ(split.train.size(), static_cast<size_t>(1000 * ratio.train + 0.5)) << text;
    EXPECT_EQ(split.validation.size(), static_cast<size_t>(1000 * ratio.validation + 0.5)) << text;
    EXPECT_EQ(all_of(split).size(), 1000U) << text;
  }
}

TEST(Splits, TheSeedDecides) {
  auto train = [](uint64_t seed) {
    Split split = random_split(labels(100, 3), {}, seed);
    return std::vector<NodeId>(split.train.begin(), split.train.end());
  };
  EXPECT_EQ(train(1), train(1));
  EXPECT_NE(train(1), train(2));
}

TEST(Splits, EveryNodeIsEquallyLikelyToBeTrainedOn) {
  std::vector<int> counts(20);
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Split split = random_split(labels(20, 2), {0.5, 0.25, 0.25}, seed);
    for (NodeId node : split.train) ++counts[node];
  }
  for (int count : counts) EXPECT_NEAR(count, 1000, 120);
}

TEST(Splits, NodesWithoutALabelAreLeftOut) {
  auto nodes = all_of(random_split(labels(100, 2, 40), {}, 0));
  EXPECT_EQ(nodes.size(), 60U);
  EXPECT_EQ(nodes.front(), 40U);
}

TEST(Splits, QuantitiesThatAreMissingAreLeftOutAndZerosAreNot) {
  std::vector<float> values(100, 0.0F);
  for (size_t i = 0; i < 30; ++i) values[i] = NAN;
  Labels real{Task::regression, 1, {}, share(std::move(values))};
  auto nodes = all_of(random_split(real, {}, 0));
  EXPECT_EQ(nodes.size(), 70U);
  EXPECT_EQ(nodes.front(), 30U);
}

TEST(Splits, PerClassCountsAreExact) {
  Labels three = labels(3000, 3);
  Split split = per_class_split(three, {20, 500, 1000}, 1);
  EXPECT_EQ(split.train.size(), 60U);
  EXPECT_EQ(split.validation.size(), 500U);
  EXPECT_EQ(split.test.size(), 1000U);
  EXPECT_EQ(all_of(split).size(), 1560U);
  int counts[3] = {};
  for (NodeId node : split.train) ++counts[three.classes[node]];
  EXPECT_EQ(counts[0], 20);
  EXPECT_EQ(counts[2], 20);
}

TEST(Splits, ValidationAndTestHaveTheSameClassesEvenIfTrainingHasNot) {
  // Nine of ten nodes are of class 0, which fills its quota long before class 1 does.
  std::vector<int32_t> classes(10000);
  for (size_t i = 0; i < classes.size(); i += 10) classes[i] = 1;
  Labels skewed = labels(10000, 2);
  skewed.classes = share(std::move(classes));
  Split split = per_class_split(skewed, {900, 3000, 3000}, 1);
  auto rare = [&](const SharedArray<NodeId>& part) {
    return std::count_if(part.begin(), part.end(),
                         [&](NodeId node) { return skewed.classes[node] == 1; });
  };
  EXPECT_EQ(rare(split.train), 900);
  EXPECT_NEAR(rare(split.validation), rare(split.test), 25);
}

// Some orders end with class 1 alone: with fewer nodes to hand out than there are, it shows.
TEST(Splits, WhatTrainingLeavesIsInRandomOrder) {
  std::vector<int32_t> classes(1000);
  for (size_t i = 0; i < classes.size(); i += 2) classes[i] = 1;
  Labels even = labels(1000, 2);
  even.classes = share(std::move(classes));
  size_t first_half = 0, all = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    // The order in which training was filled: what came before the last training node of a class
    // must be as likely in validation as what came after.
    auto order = random_permutation(1000, Random(seed, Purpose::split));
    Split split = per_class_split(even, {200, 100, 100}, seed);
    for (size_t i = 0; i < 600; ++i) {
      auto node = static_cast<NodeId>(order[i]);
      bool left = !std::binary_search(split.train.begin(), split.train.end(), node);
      bool taken = std::binary_search(split.validation.begin(), split.validation.end(), node);
      all += left;
      first_half += left && taken;
    }
  }
  EXPECT_NEAR(static_cast<double>(first_half) / static_cast<double>(all), 100.0 / 600, 0.04);
}

TEST(Splits, SharesThatAddUpToLessThanAHundredLeaveNodesOut) {
  Split split = random_split(labels(1000, 3), parse_ratio("10/20/30"), 5);
  EXPECT_EQ(split.train.size(), 100U);
  EXPECT_EQ(split.validation.size(), 200U);
  EXPECT_EQ(split.test.size(), 300U);
  EXPECT_EQ(all_of(split).size(), 600U);
}

TEST(Splits, FoldsDivideTrainingAndValidationAnewAndNeverHoldTestNodes) {
  Labels three = labels(100, 3);
  Split split = random_split(three, parse_ratio("50/30/20"), 5);
  auto known = all_of(without_test(split, three));
  EXPECT_EQ(known.size(), 80U);
  EXPECT_TRUE(std::ranges::equal(without_test(split, three).train, split.train));
  EXPECT_TRUE(std::ranges::equal(without_test(split, three).validation, split.validation));
  std::vector<NodeId> before(split.validation.begin(), split.validation.end());
  for (size_t fold : {1, 2, 3}) {
    Split other = without_test(split, three, fold);
    EXPECT_EQ(other.train.size(), 50U);
    EXPECT_EQ(class_counts(three, other.train.span()), class_counts(three, split.train.span()));
    EXPECT_EQ(all_of(other), known);
    std::vector<NodeId> now(other.validation.begin(), other.validation.end());
    EXPECT_NE(now, before) << "fold " << fold << " is the one before";
    before = now;
  }
}

TEST(Splits, FoldsOfValuesAreDrawnFromAllNodes) {
  Labels values{Task::regression, 1, {}, share(std::vector<float>(100, 0.0F))};
  Split split = random_split(values, parse_ratio("50/30/20"), 5);
  Split other = without_test(split, values, 1);
  EXPECT_EQ(other.train.size(), 50U);
  EXPECT_EQ(all_of(other), all_of(without_test(split, values)));
  EXPECT_FALSE(std::ranges::equal(other.train, split.train));
}

TEST(Splits, HalvesOfTheValidationNodesAreApartAndHoldNoTestNode) {
  Labels three = labels(100, 3);
  Split split = random_split(three, parse_ratio("50/31/19"), 5);
  Split halves = judged_by_halves(split);
  EXPECT_TRUE(std::ranges::equal(halves.train, split.train));
  EXPECT_EQ(halves.validation.size(), 16U);
  EXPECT_EQ(halves.test.size(), 15U);
  EXPECT_EQ(all_of(halves), all_of(without_test(split, three)));
  EXPECT_GT(halves.validation[15], halves.test[0]) << "drawn, not cut in the middle";
}

TEST(Splits, CountsAreRead) {
  SplitCounts counts = parse_counts("20/500/1000");
  EXPECT_EQ(counts.train_per_class, 20U);
  EXPECT_EQ(counts.validation, 500U);
  EXPECT_EQ(counts.test, 1000U);
  for (const char* text :
       {"", "20", "20/500", "20/x/1000", "0/5/5", "1.5/5/5", "inf/5/5", "1e30/5/5"})
    EXPECT_SAYS(refusal([&] { parse_counts(text); }), "is not a split");
}

TEST(Splits, WhatCannotBeIsASentence) {
  EXPECT_SAYS(refusal([] {
                per_class_split(labels(100, 2), {20, 500, 1000}, 0);
              }),
              "60 labelled nodes are left");
  EXPECT_SAYS(refusal([] { random_split(labels(2, 2), {}, 0); }), "too few");
  EXPECT_SAYS(refusal([] { random_split(Labels{}, {}, 0); }), "needs labels");
  EXPECT_SAYS(refusal([] { random_split(labels(9, 2), {0.9, 0.2, 0.2}, 0); }), "at most 1");
  for (const char* text : {"", "60", "60/20", "60/20/x", "60/20/20/5", "90/20/20", "60/40/0"})
    EXPECT_SAYS(refusal([&] { parse_ratio(text); }), "is not a split");
  EXPECT_SAYS(refusal([] { stored_split(Dataset{}, 3); }), "0 stored splits");
}

}  // namespace
}  // namespace spex
