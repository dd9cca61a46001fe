#include <spex/core/safetensors.h>
#include <spex/data/native.h>
#include <spex/data/validate.h>

#include "data/draft.h"
#include "support.h"

namespace spex {
namespace {

using namespace test;

// A triangle with a tail, everything filled in; parts are replaced to make it wrong.
Dataset small() {
  Dataset dataset;
  dataset.name = "small";
  dataset.source = "made here";
  dataset.graph = {share<EdgeOffset>({0, 2, 4, 7, 8}), share<NodeId>({1, 2, 0, 2, 0, 1, 3, 2}),
                   true};
  dataset.features = DenseFeatures{4, 2, share<float>({1, 2, 3, 4, 5, 6, 7, 8})};
  dataset.labels = {Task::classes, 2, share<int32_t>({0, 1, -1, 1}), {}};
  dataset.class_names = {"a", "b \"quoted\""};
  dataset.splits = {{share<NodeId>({0}), share<NodeId>({1}), share<NodeId>({2, 3})}};
  dataset.edge_feature_count = 1;
  dataset.edge_features = share<float>({1, 2, 3, 4, 5, 6, 7, 8});
  dataset.cleaning = {3, 2, 1};
  return dataset;
}

class Native : public Folder {
 protected:
  std::filesystem::path path() const { return folder_ / "d.safetensors"; }
};

TEST_F(Native, WhatIsSavedIsLoaded) {
  save_native(small(), path());
  Dataset dataset = read_dataset(path());
  EXPECT_EQ(dataset.name, "small");
  EXPECT_EQ(row(dataset, 2), (std::vector<NodeId>{0, 1, 3}));
  EXPECT_TRUE(dataset.graph.symmetric);
  EXPECT_EQ(std::get<DenseFeatures>(dataset.features).view()(3, 1), 8.0F);
  EXPECT_EQ(dataset.labels.classes[2], -1);
  EXPECT_EQ(dataset.class_names[1], "b \"quoted\"");
  EXPECT_EQ(dataset.splits[0].test[1], 3U);
  EXPECT_EQ(dataset.edge_features[7], 8.0F);
  EXPECT_EQ(dataset.cleaning.self_loops_removed, 2U);
}

TEST_F(Native, SparseFeaturesAndBinaryLabelsSurvive) {
  Dataset dataset = small();
  dataset.features = SparseMatrix{4, 9, share<uint64_t>({0, 1, 1, 2, 2}), share<uint32_t>({8, 0}),
                                  share<float>({0.5F, 2})};
  dataset.labels = {Task::binary_labels, 2, {}, share<float>({0, 1, NAN, 1, 1, 1, 0, 0})};
  dataset.synthetic = true;
  save_native(dataset, path());
  Dataset loaded = read_dataset(path());
  EXPECT_EQ(std::get<SparseMatrix>(loaded.features).columns[0], 8U);
  EXPECT_EQ(loaded.labels.task, Task::binary_labels);
  EXPECT_TRUE(std::isnan(loaded.labels.values[2]));
  EXPECT_TRUE(loaded.synthetic);
}

TEST_F(Native, ArraysAreViewsOfTheFile) {
  save_native(small(), path());
  size_t before = memory_use().current;
  Dataset dataset = load_native(path());
  EXPECT_EQ(memory_use().current, before);
}

TEST_F(Native, RejectsFilesThatAreNotWhole) {
  save_native(small(), path());
  std::string whole = read_text(path());
  for (size_t cut = 9; cut < whole.size(); cut += 7) {
    write("d.safetensors", whole.substr(0, cut));
    read_refusal(path());
  }
  std::vector<float> values = {1};
  write_safetensors(path(), std::vector{tensor<float>("weight", values, {1})});
  EXPECT_SAYS(read_refusal(path()), "not a data set of ours");
}

TEST_F(Native, RejectsADamagedField) {
  save_native(small(), path());
  std::string whole = read_text(path());
  auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = whole;
    size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    return read_refusal(write("d.safetensors", changed));
  };
  EXPECT_SAYS(with(R"("version":"1")", R"("version":"9")"), "version 9");
  EXPECT_SAYS(with(R"("task":"classes")", R"("task":"glasses")"), "glasses");
  EXPECT_SAYS(with(R"("splits":"1")", R"("splits":"2")"), "split.1.train");
  EXPECT_SAYS(with(R"("feature_count":"2")", R"("feature_count":"3")"), "expected 4 x 3");
  EXPECT_SAYS(with(R"("symmetric":"1")", R"("symmetric":"x")"), "'symmetric'");
  EXPECT_SAYS(with(R"("outputs":"2")", R"("outputs":"1")"), "label of node 1 is 1");
  EXPECT_SAYS(with("graph.neighbours", "graph.neighbouts"), "no array 'graph.neighbours'");
}

// Opening trusts nothing inside the arrays; reading them does not go on without looking.
TEST_F(Native, IdsOutOfRangeInsideTheFileAreFoundOnReading) {
  save_native(small(), path());
  std::string bytes = read_text(path());
  auto file = Safetensors::open(path());
  auto neighbours = file.array<NodeId>("graph.neighbours");
  std::string needle = raw<NodeId>({neighbours.begin(), neighbours.end()});
  size_t at = bytes.find(needle);
  ASSERT_NE(at, std::string::npos);
  bytes[at + 3] = '\x7f';
  write("d.safetensors", bytes);
  EXPECT_NO_THROW(load_native(path()));
  EXPECT_SAYS(read_refusal(path()), "edge 0 leads to node");
}

std::string invalid(const std::function<void(Dataset&)>& spoil) {
  Dataset dataset = small();
  spoil(dataset);
  return refusal([&] { validate(dataset); }, "made here");
}

TEST(Validate, AcceptsWhatIsRightAndNamesWhatIsNot) {
  EXPECT_NO_THROW(validate(small()));
  EXPECT_SAYS(invalid([](Dataset& d) {
                d.graph.offsets = share<EdgeOffset>({0, 5, 4, 7, 8});
              }),
              "fall at row 1");
  EXPECT_SAYS(invalid([](Dataset& d) {
                d.graph.offsets = share<EdgeOffset>({0, 2, 4, 7, 9});
              }),
              "run from 0 to 8");
  EXPECT_SAYS(invalid([](Dataset& d) {
                d.graph.neighbours = share<NodeId>({1, 2, 0, 2, 0, 1, 4, 2});
              }),
              "edge 6 leads to node 4");
  EXPECT_SAYS(invalid([](Dataset& d) {
                d.graph.neighbours = share<NodeId>({1, 2, 0, 2, 0, 1, 3, 1});
              }),
              "lacks its reverse");
  EXPECT_SAYS(invalid([](Dataset& d) { d.features = DenseFeatures{3, 0, {}}; }), "3 rows");
  EXPECT_SAYS(invalid([](Dataset& d) {
                d.features = DenseFeatures{4, 1, share<float>({1, 2})};
              }),
              "2 feature values");
  EXPECT_SAYS(invalid([](Dataset& d) {
                d.labels.classes = share<int32_t>({0, 1, 2, 1});
              }),
              "node 2 is 2");
  EXPECT_SAYS(invalid([](Dataset& d) { d.labels.classes = share<int32_t>({0, 1}); }), "2 labels");
  EXPECT_SAYS(invalid([](Dataset& d) {
                d.labels = {Task::binary_labels, 1, {}, share<float>({0, 1, 2, 0})};
              }),
              "label 0 of node 2 is 2");
  EXPECT_SAYS(invalid([](Dataset& d) { d.splits[0].test = share<NodeId>({2, 9}); }), "node 9");
  EXPECT_SAYS(invalid([](Dataset& d) { d.splits[0].test = share<NodeId>({3, 2}); }), "ascend");
  EXPECT_SAYS(invalid([](Dataset& d) { d.splits[0].validation = {}; }), "no validation nodes");
  EXPECT_SAYS(invalid([](Dataset& d) { d.edge_features = share<float>({1}); }), "edge feature");
  EXPECT_SAYS(invalid([](Dataset& d) {
                d.features = SparseMatrix{4, 9, share<uint64_t>({0, 2, 2, 2, 2}),
                                          share<uint32_t>({3, 3}), share<float>({1, 1})};
              }),
              "column 3 of node 0");
}

}  // namespace
}  // namespace spex
