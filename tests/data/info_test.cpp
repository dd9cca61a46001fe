#include <spex/data/info.h>

#include "data/draft.h"
#include "support.h"

namespace spex {
namespace {

using namespace test;

// Five nodes, one isolated; a star around node 0 with a self-loop there.
Dataset star() {
  Dataset dataset;
  dataset.name = "star";
  dataset.source = "made here";
  dataset.synthetic = true;
  dataset.graph = {share<EdgeOffset>({0, 4, 5, 6, 7, 7}), share<NodeId>({0, 1, 2, 3, 0, 0, 0}),
                   true};
  dataset.features = DenseFeatures{5, 2, share<float>({0, 1, 0, 1, 0, 1, 0, 1, 0, 0})};
  dataset.labels = {Task::classes, 2, share<int32_t>({0, 0, 1, -1, 1}), {}};
  dataset.class_names = {"cat", "dog"};
  dataset.splits = {{share<NodeId>({0}), share<NodeId>({1}), share<NodeId>({2})}};
  dataset.cleaning = {1234, 2, 3};
  return dataset;
}

TEST(Info, CountsByHand) {
  DatasetInfo info = describe(star());
  EXPECT_EQ(info.nodes, 5U);
  EXPECT_EQ(info.edges, 7U);
  EXPECT_EQ(info.max_degree, 4U);
  EXPECT_EQ(info.median_degree, 1U);
  EXPECT_DOUBLE_EQ(info.mean_degree, 1.4);
  EXPECT_EQ(info.isolated_nodes, 1U);
  EXPECT_EQ(info.self_loops, 1U);
  EXPECT_DOUBLE_EQ(info.feature_density, 0.4);
  EXPECT_EQ(info.labelled_nodes, 4U);
  EXPECT_EQ(info.classes[1].nodes, 2U);
  EXPECT_DOUBLE_EQ(info.classes[1].share, 0.5);
  EXPECT_EQ(info.homophily_edges, 5U);         // those at node 3 do not count
  EXPECT_DOUBLE_EQ(info.edge_homophily, 0.6);  // 0-0, 0-1, 1-0
  EXPECT_EQ(info.splits[0].test, 1U);
  EXPECT_EQ(info.graph_bytes, 6 * 8 + 7 * 4U);
}

// Node i has i neighbours.
TEST(Info, QuantilesOfDegreesAreThoseOfTheSortedList) {
  constexpr size_t kNodes = 100;
  std::vector<EdgeOffset> offsets = {0};
  for (size_t i = 0; i < kNodes; ++i) offsets.push_back(offsets.back() + i);
  Dataset dataset;
  dataset.graph = {share(std::move(offsets)), share(std::vector<NodeId>(kNodes * (kNodes - 1) / 2)),
                   false};
  dataset.features = DenseFeatures{};
  DatasetInfo info = describe(dataset);
  EXPECT_EQ(info.median_degree, 49U);
  EXPECT_EQ(info.degree_90, 89U);
  EXPECT_EQ(info.degree_99, 98U);
  EXPECT_EQ(info.max_degree, 99U);
}

TEST(Info, ThePageSaysWhatThereIs) {
  std::string page = format(describe(star()));
  for (const char* part : {"star (synthetic", "made here", "max 4", "1,234 removed", "cat", "50.0%",
                           "0.600", "40.00% not zero", "0: 1 training"})
    EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
}

TEST(Info, SparseFeaturesAndOtherTasks) {
  Dataset dataset = star();
  dataset.features = SparseMatrix{5, 10, share<uint64_t>({0, 1, 1, 1, 1, 1}), share<uint32_t>({8}),
                                  share<float>({1})};
  dataset.labels = {Task::binary_labels, 2, {}, share<float>({0, 1, NAN, NAN, NAN, 1, 1, 1, 1, 1})};
  DatasetInfo info = describe(dataset);
  EXPECT_TRUE(info.sparse_features);
  EXPECT_DOUBLE_EQ(info.feature_density, 0.02);
  EXPECT_EQ(info.labelled_nodes, 4U);
  EXPECT_EQ(info.homophily_edges, 0U);
  EXPECT_EQ(format(info).find("homophily"), std::string::npos);
}

}  // namespace
}  // namespace spex
