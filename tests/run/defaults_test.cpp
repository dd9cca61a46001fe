#include <gtest/gtest.h>
#include <spex/data/splits.h>
#include <spex/graph/builder.h>
#include <spex/run/defaults.h>

#include <cmath>

#include "run/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

// Labels of the nodes outside training and validation are replaced.
Dataset with_other_test_labels(Dataset data, const Split& split) {
  Buffer<int32_t> classes(data.nodes(), MemoryTag::other);
  std::copy(data.labels.classes.begin(), data.labels.classes.end(), classes.begin());
  for (NodeId node : split.test) classes[node] = 1 - classes[node];
  data.labels.classes = std::move(classes);
  return data;
}

TEST(Defaults, AreTheSameWhateverTheTestLabels) {
  Dataset data = small_mines(8);
  Split split = choose_split(data, {});
  ASSERT_GT(split.test.size(), 5U);
  Config one = default_config(data, "spexphormer-local");
  Config other = default_config(with_other_test_labels(data, split), "spexphormer-local");
  EXPECT_EQ(to_toml(one), to_toml(other));
  EXPECT_GT(one.final().recipe.patience, 0U);
}

// A path 0 - 1 - 2 - 3 with classes 0 0 1 1, all of them for training: two of three edges agree.
TEST(DataFacts, HomophilyIsMeasuredBetweenTrainingNodes) {
  Dataset data;
  std::vector<NodeId> sources = {0, 1, 2}, targets = {1, 2, 3};
  data.graph = build_csr(4, sources, targets).graph;
  Buffer<int32_t> classes(4, MemoryTag::other);
  for (size_t i = 0; i < 4; ++i) classes[i] = i < 2 ? 0 : 1;
  data.labels = {Task::classes, 2, std::move(classes), {}};
  Buffer<NodeId> train(4, MemoryTag::other), pair(2, MemoryTag::other);
  for (NodeId i = 0; i < 4; ++i) train[i] = i;
  pair[0] = 0, pair[1] = 2;
  Split split;
  split.train = std::move(train);
  EXPECT_NEAR(facts_of(data, split).homophily, (2.0 / 3 - 0.5) / 0.5, 1e-12);
  split.train = std::move(pair);
  EXPECT_TRUE(std::isnan(facts_of(data, split).homophily)) << "no edge joins two training nodes";
}

TEST(Defaults, LargeGraphsTrainInBatches) {
  EXPECT_EQ(default_model(small_mines(8)), "spexphormer-local");
  Config config = default_config(small_mines(8), "spexphormer");
  EXPECT_EQ(config.final().recipe.batch_size, 0U);
  EXPECT_EQ(config.final().model->needs().layers, 4U);
}

}  // namespace
}  // namespace spex
