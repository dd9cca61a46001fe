// OGB, Geom-GCN and WikiCS.
#include <nlohmann/json.hpp>

#include "support.h"

namespace spex {
namespace {

using namespace test;
using nlohmann::json;

class Ogb : public Folder {
 protected:
  void SetUp() override {
    Folder::SetUp();
    gz("raw/num-node-list", "4\n");
    gz("raw/edge", "0,1\n1,2\n2,3\n");
    gz("raw/node-feat", "1,2\n3,4\n5,6\n7,8\n");
    gz("raw/node-label", "0\n1\n2\n1\n");
    gz("split/time/train", "1\n0\n");
    gz("split/time/valid", "2\n");
    gz("split/time/test", "3\n");
  }
  void gz(const std::string& name, const std::string& text) const {
    write_gzip(folder_ / (name + ".csv.gz"), text);
  }
  void remove(const std::string& name) const {
    std::filesystem::remove(folder_ / (name + ".csv.gz"));
  }
  std::string refused(ReadOptions options = {}) const {
    return refusal([&] { read_dataset(folder_, options); }, folder_.string());
  }
};

TEST_F(Ogb, ReadsGraphFeaturesLabelsAndSplit) {
  Dataset dataset = read_dataset(folder_);
  EXPECT_EQ(dataset.nodes(), 4U);
  EXPECT_EQ(row(dataset, 2), (std::vector<NodeId>{1, 3}));
  EXPECT_EQ(std::get<DenseFeatures>(dataset.features).view()(3, 1), 8.0F);
  EXPECT_EQ(dataset.labels.outputs, 3U);
  ASSERT_EQ(dataset.splits.size(), 1U);
  EXPECT_EQ(dataset.splits[0].train[0], 0U);  // ascending, whatever the file's order
}

TEST_F(Ogb, EdgeFeaturesBecomeMeansAndSpeciesAnOption) {
  remove("raw/node-feat");
  gz("raw/edge-feat", "1,0\n3,0.5\n5,1\n");
  gz("raw/node-label", "0,1\n1,nan\n,0\n1,1\n");
  gz("raw/node_species", "9606\n4932\n9606\n9606\n");
  Dataset dataset = read_dataset(folder_);
  auto features = std::get<DenseFeatures>(dataset.features).view();
  EXPECT_EQ(features(0, 0), 1.0F);
  EXPECT_EQ(features(1, 0), 2.0F);
  EXPECT_EQ(features(2, 1), 0.75F);
  EXPECT_EQ(dataset.labels.task, Task::binary_labels);
  EXPECT_EQ(dataset.labels.outputs, 2U);
  EXPECT_TRUE(std::isnan(dataset.labels.values[3]));
  EXPECT_TRUE(std::isnan(dataset.labels.values[4]));
  ReadOptions options;
  options.species = true;
  Dataset with_species = read_dataset(folder_, options);
  auto wide = std::get<DenseFeatures>(with_species.features).view();
  EXPECT_EQ(wide.cols, 4U);
  EXPECT_EQ(wide(1, 2), 1.0F);
  EXPECT_EQ(wide(0, 3), 1.0F);
}

TEST_F(Ogb, RejectsWhatDoesNotFit) {
  gz("raw/edge", "0,1\n1,4\n");
  EXPECT_SAYS(refused(), "line 2: '4' is not a node id from 0 to 3");
  gz("raw/edge", "0,1\n1,-2\n");
  EXPECT_SAYS(refused(), "line 2: '-2'");
  gz("raw/edge", "0,1,2\n");
  EXPECT_SAYS(refused(), "3 columns");
  SetUp();
  gz("raw/num-node-list", "4000000000\n");
  EXPECT_SAYS(refused(), "has 4 rows");
  SetUp();
  gz("raw/node-feat", "1,2\n3,4\n5,6\n");
  EXPECT_SAYS(refused(), "3 rows for 4 nodes");
  gz("raw/node-feat", "1,2\n3,nan\n5,6\n7,8\n");
  EXPECT_SAYS(refused(), "line 2: 'nan'");
  SetUp();
  gz("raw/node-label", "0\n1\nx\n1\n");
  EXPECT_SAYS(refused(), "line 3: 'x' is not a number");
  SetUp();
  gz("split/time/valid", "9\n");
  EXPECT_SAYS(refused(), "row 1 names node 9");
  gz("split/time/valid", "1\n");
  EXPECT_SAYS(refused(), "node 1 in its validation part");
  gz("split/time/valid", "");
  EXPECT_SAYS(refused(), "no rows");
  gz("split/time/valid", "2\n2\n");
  EXPECT_SAYS(refused(), "does not ascend");
  remove("split/time/valid");
  EXPECT_SAYS(refused(), "no valid.csv.gz");
  SetUp();
  ReadOptions species;
  species.species = true;
  EXPECT_SAYS(refused(species), "node_species");
  remove("raw/node-label");
  EXPECT_SAYS(refused(), "no node-label.csv.gz");
}

class GeomGcn : public Folder {
 protected:
  void SetUp() override {
    Folder::SetUp();
    write("out1_graph_edges.txt", "node_id\tnode_id\n0\t1\n1\t2\n");
    nodes("1\t0,1\t0\n0\t1,0\t1\n2\t1,1\t1\n");
    write_npz(folder_ / "x_split_0.6_0.2_0.npz",
              {{"train_mask", npy("<f4", "3,", raw<float>({1, 0, 0}))},
               {"val_mask", npy("<f4", "3,", raw<float>({0, 1, 0}))},
               {"test_mask", npy("<f4", "3,", raw<float>({0, 0, 1}))}});
  }
  void nodes(const std::string& rows) const {
    write("out1_node_feature_label.txt", "node_id\tfeature\tlabel\n" + rows);
  }
  std::string refused() const {
    return refusal([&] { read_dataset(folder_); }, folder_.string());
  }
};

TEST_F(GeomGcn, ReadsRowsInAnyOrderAndTheSplit) {
  Dataset dataset = read_dataset(folder_);
  EXPECT_EQ(dataset.nodes(), 3U);
  EXPECT_EQ(std::get<DenseFeatures>(dataset.features).view()(0, 0), 1.0F);
  EXPECT_EQ(dataset.labels.classes[0], 1);
  ASSERT_EQ(dataset.splits.size(), 1U);
  EXPECT_EQ(dataset.splits[0].test[0], 2U);
}

TEST_F(GeomGcn, RowsOfDifferentLengthListFeatureIds) {
  nodes("1\t90,1\t0\n0\t3\t1\n2\t1,1,5\t1\n");
  Dataset dataset = read_dataset(folder_);
  const auto& features = std::get<SparseMatrix>(dataset.features);
  EXPECT_EQ(features.cols, 91U);
  EXPECT_EQ(features.nonzeros(), 5U);
}

TEST_F(GeomGcn, RejectsWhatDoesNotFit) {
  nodes("0\t0,1\t0\n0\t1,0\t1\n");
  EXPECT_SAYS(refused(), "node 0 comes a second time");
  nodes("0\t0,1\t0\n7\t1,0\t1\n");
  EXPECT_SAYS(refused(), "row 2 names node 7");
  nodes("0\t0,1\t0\n-1\t1,0\t1\n");
  EXPECT_SAYS(refused(), "line 3: '-1'");
  nodes("0\t0,x\t0\n1\t1,0\t1\n");
  EXPECT_SAYS(refused(), "line 2: the feature 'x'");
  nodes("0\t0,1\t0\n1\t1,0\tblue\n");
  EXPECT_SAYS(refused(), "line 3: the label 'blue'");
  nodes("0\t0,1\n");
  EXPECT_SAYS(refused(), "line 2: 2 fields");
  nodes("");
  EXPECT_SAYS(refused(), "no nodes");
  SetUp();
  write("out1_graph_edges.txt", "node_id\tnode_id\n0\t9\n");
  EXPECT_SAYS(refused(), "line 2: '9'");
  SetUp();
  nodes("0\t0,1\t0\n1\t1,0\t1\n");
  write("out1_graph_edges.txt", "node_id\tnode_id\n0\t1\n");
  EXPECT_SAYS(refused(), "expected 2");
  std::filesystem::remove(folder_ / "out1_node_feature_label.txt");
  EXPECT_SAYS(refused(), "cannot open");
}

class WikiCs : public Folder {
 protected:
  json whole_ = {{"features", {{0.5, 1}, {2, 3}, {4, -5.5}}},
                 {"labels", {0, 1, 1}},
                 {"links", {{1}, {2}, {0, 1}}},
                 {"train_masks", {{true, false, false}}},
                 {"val_masks", {{false, true, false}}},
                 {"test_mask", {false, false, true}}};
  std::string refused(const char* key, const json& value) const {
    json changed = whole_;
    changed[key] = value;
    return read_refusal(write("data.json", changed.dump()));
  }
};

TEST_F(WikiCs, ReadsLinksFeaturesLabelsAndMasks) {
  Dataset dataset = read_dataset(write("data.json", whole_.dump()));
  EXPECT_EQ(dataset.nodes(), 3U);
  EXPECT_EQ(dataset.graph.edges(), 6U);
  EXPECT_EQ(std::get<DenseFeatures>(dataset.features).view()(2, 1), -5.5F);
  ASSERT_EQ(dataset.splits.size(), 1U);
  EXPECT_EQ(dataset.splits[0].test[0], 2U);
  EXPECT_EQ(read_dataset(folder_).nodes(), 3U);
}

TEST_F(WikiCs, RejectsWhatDoesNotFit) {
  EXPECT_SAYS(refused("links", {{1}, {3}, {0}}), "a link of node 1 names node 3");
  EXPECT_SAYS(refused("links", {{1}, {-1}, {0}}), "names node -1");
  EXPECT_SAYS(refused("links", {{1}, {"a"}, {0}}), "not a node id");
  EXPECT_SAYS(refused("links", {{1}, {2}}), "list of 3");
  EXPECT_SAYS(refused("links", {json::array(), json::array(), json::array()}), "no edges");
  EXPECT_SAYS(refused("labels", {0, 1}), "list of 3");
  EXPECT_SAYS(refused("labels", {0, 1, "x"}), "label of node 2");
  EXPECT_SAYS(refused("labels", {0, 1, 3}), "node 2 is 3");
  EXPECT_SAYS(refused("features", {{1, 2}, {1}, {1, 2}}), "features of node 1");
  EXPECT_SAYS(refused("features", {{1, 2}, {1, nullptr}, {1, 2}}), "feature 1 of node 1");
  EXPECT_SAYS(refused("features", {{1, 2}, {1, 1e300}, {1, 2}}), "feature 1 of node 1");
  EXPECT_SAYS(refused("features", json::array()), "no nodes");
  EXPECT_SAYS(refused("val_masks", {{true, false, false}}), "split 0 has node 0");
  EXPECT_SAYS(refused("val_masks", {{false, false, false}}), "no validation");
  EXPECT_SAYS(refused("val_masks", {{false, 7, false}}), "true or false");
  EXPECT_SAYS(refused("test_mask", {true}), "list of 3");
  std::string text = whole_.dump();
  EXPECT_SAYS(read_refusal(write("data.json", text.substr(0, text.size() / 2))), "not whole JSON");
  for (const char* other : {"{\"a\": 1}", "[1, 2]", R"({"nodes": [], "links": []})"})
    EXPECT_SAYS(read_refusal(write("data.json", other)), "save the edges as a table");
}

}  // namespace
}  // namespace spex
