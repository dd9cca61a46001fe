#include <spex/core/log.h>
#include <spex/core/memory.h>

#include "data/formats/npz_datasets.h"
#include "support.h"

namespace spex {
namespace {

using namespace test;

// Six nodes in a path, two features, two classes, one split.
Entries pairs() {
  return {{"node_features", npy("<f4", "6, 2", raw<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}))},
          {"node_labels", npy("<i8", "6,", raw<int64_t>({0, 1, 0, 1, 0, 1}))},
          {"edges", npy("<i8", "5, 2", raw<int64_t>({0, 1, 1, 2, 2, 3, 3, 4, 4, 5}))},
          {"train_masks", npy("|b1", "1, 6", std::string("\1\1\0\0\0\0", 6))},
          {"val_masks", npy("|b1", "1, 6", std::string("\0\0\1\1\0\0", 6))},
          {"test_masks", npy("|b1", "1, 6", std::string("\0\0\0\0\1\1", 6))}};
}

Entries matrices() {
  return {{"adj_data", npy("<f4", "3,", raw<float>({1, 1, 1}))},
          {"adj_indices", npy("<i4", "3,", raw<int32_t>({1, 2, 0}))},
          {"adj_indptr", npy("<i4", "4,", raw<int32_t>({0, 1, 2, 3}))},
          {"adj_shape", npy("<i8", "2,", raw<int64_t>({3, 3}))},
          {"attr_data", npy("<f4", "3,", raw<float>({1, 2, 3}))},
          {"attr_indices", npy("<i4", "3,", raw<int32_t>({70, 1, 0}))},
          {"attr_indptr", npy("<i4", "4,", raw<int32_t>({0, 2, 3, 3}))},
          {"attr_shape", npy("<i8", "2,", raw<int64_t>({3, 80}))},
          {"labels", npy("|i1", "3,", std::string("\0\1\0", 3))},
          {"class_names", npy("<U2", "2,", raw<uint32_t>({'a', 0xe9, 'b', 0}))}};
}

class NpzReader : public Folder {
 protected:
  std::filesystem::path path() const { return folder_ / "x.npz"; }
  Dataset read(const Entries& entries, bool compressed = true) const {
    write_npz(path(), entries, compressed);
    return read_dataset(path());
  }
  std::string refused(const Entries& entries) const {
    write_npz(path(), entries);
    return read_refusal(path());
  }
  static Entries with(Entries entries, const std::string& name, const std::string& bytes) {
    entries[name] = bytes;
    return entries;
  }
};

TEST_F(NpzReader, ReadsEdgePairsFeaturesLabelsAndMasks) {
  for (bool compressed : {true, false}) {
    Dataset dataset = read(pairs(), compressed);
    EXPECT_EQ(dataset.name, "x");
    EXPECT_EQ(dataset.nodes(), 6U);
    EXPECT_EQ(dataset.graph.edges(), 10U);
    EXPECT_TRUE(dataset.graph.symmetric);
    EXPECT_EQ(row(dataset, 1), (std::vector<NodeId>{0, 2}));
    EXPECT_EQ(std::get<DenseFeatures>(dataset.features).view()(2, 1), 5.0F);
    EXPECT_EQ(dataset.labels.outputs, 2U);
    ASSERT_EQ(dataset.splits.size(), 1U);
    EXPECT_EQ(dataset.splits[0].validation[0], 2U);
    EXPECT_EQ(dataset.cleaning.edges_reversed, 5U);
  }
}

TEST_F(NpzReader, ReadsSparseAdjacencyAndAttributes) {
  Dataset dataset = read(matrices());
  EXPECT_EQ(row(dataset, 0), (std::vector<NodeId>{1, 2}));
  const auto& features = std::get<SparseMatrix>(dataset.features);
  EXPECT_EQ(features.cols, 80U);
  EXPECT_EQ(features.columns[0], 1U);  // scipy's order was 70, 1
  EXPECT_EQ(features.values[0], 2.0F);
  EXPECT_EQ(dataset.class_names, (std::vector<std::string>{"a\xc3\xa9", "b"}));
}

TEST_F(NpzReader, ReadsEveryNumberType) {
  Entries e = pairs();
  e["edges"] = npy("<u2", "5, 2", raw<uint16_t>({0, 1, 1, 2, 2, 3, 3, 4, 4, 5}));
  e["node_labels"] = npy("<f8", "6,", raw<double>({0, 1, 0, 1, 0, -1}));
  e["node_features"] = npy("<f2", "6, 1", raw<uint16_t>({0x3c00, 0xc000, 0, 1, 0x7bff, 0x3555}));
  Dataset dataset = read(e);
  const auto& values = std::get<DenseFeatures>(dataset.features).values;
  EXPECT_EQ(values[1], -2.0F);
  EXPECT_EQ(values[3], 0x1p-24F);
  EXPECT_EQ(values[4], 65504.0F);
  EXPECT_EQ(dataset.labels.classes[5], -1);
  for (const char* type : {"|i1", "|u1", "<i2", "<i4", "<u4", "<u8", "<f4"}) {
    size_t width = static_cast<size_t>(type[2] - '0');
    e["node_labels"] = npy(type, "6,", std::string(6 * width, '\0'));
    EXPECT_EQ(read(e).labels.classes[0], 0) << type;
  }
}

TEST_F(NpzReader, ReadsFortranOrder) {
  Entries e = pairs();
  e["edges"] = npy("<i8", "5, 2", raw<int64_t>({0, 1, 2, 3, 4, 1, 2, 3, 4, 5}), "True");
  e["train_masks"] = npy("|b1", "2, 6", std::string("\1\1\1\1\0\0\0\0\0\0\0\0", 12), "True");
  e["val_masks"] = npy("|b1", "2, 6", std::string("\0\0\0\0\1\1\1\1\0\0\0\0", 12), "True");
  e["test_masks"] = npy("|b1", "2, 6", std::string("\0\0\0\0\0\0\0\0\1\1\1\1", 12), "True");
  Dataset dataset = read(e);
  EXPECT_EQ(row(dataset, 1), (std::vector<NodeId>{0, 2}));
  EXPECT_EQ(dataset.splits[1].train.size(), 2U);
}

TEST_F(NpzReader, MostlyZeroFeaturesBecomeSparse) {
  std::vector<float> values(6 * 100);
  values[101] = 2.0F;
  Dataset dataset = read(with(pairs(), "node_features", npy("<f4", "6, 100", raw(values))));
  const auto& features = std::get<SparseMatrix>(dataset.features);
  EXPECT_EQ(features.nonzeros(), 1U);
  EXPECT_EQ(features.columns[0], 1U);
  EXPECT_EQ(features.offsets[1], 0U);
  EXPECT_EQ(features.offsets[2], 1U);
}

TEST_F(NpzReader, RejectsIdsOutOfRange) {
  auto edges = [](int64_t id) { return npy("<i8", "1, 2", raw<int64_t>({0, id})); };
  EXPECT_SAYS(refused(with(pairs(), "edges", edges(6))), "edge 0 names node 6");
  EXPECT_SAYS(refused(with(pairs(), "edges", edges(-1))), "edge 0 names node -1");
  EXPECT_SAYS(refused(with(pairs(), "edges", edges(int64_t{1} << 32))), "names node 4294967296");
  auto indices = npy("<i4", "3,", raw<int32_t>({1, 2, 3}));
  EXPECT_SAYS(refused(with(matrices(), "adj_indices", indices)), "entry 2 is column 3");
  EXPECT_SAYS(refused(with(matrices(), "attr_indices", npy("<i4", "3,", raw<int32_t>({-1, 1, 2})))),
              "column -1");
}

TEST_F(NpzReader, RejectsBadFeaturesAndLabels) {
  std::vector<float> values(12, 1.0F);
  values[5] = INFINITY;
  EXPECT_SAYS(refused(with(pairs(), "node_features", npy("<f4", "6, 2", raw(values)))), "inf");
  auto labels = [](std::vector<int64_t> v) {
    return npy("<i8", std::to_string(v.size()) + ",", raw(v));
  };
  EXPECT_SAYS(refused(with(pairs(), "node_labels", labels({0, 1}))), "expected 6");
  auto infinite = npy("<f4", "6,", raw<float>({0, 1, 0, 1, 0, INFINITY}));
  EXPECT_SAYS(refused(with(pairs(), "node_labels", infinite)), "not finite");
}

// The names of PyTorch Geometric: x, y, edge_index [2, E], masks [N] or [N, splits].
Entries geometric() {
  return {{"x", pairs().at("node_features")},
          {"y", pairs().at("node_labels")},
          {"edge_index", npy("<i8", "2, 5", raw<int64_t>({0, 1, 2, 3, 4, 1, 2, 3, 4, 5}))},
          {"train_mask", npy("|b1", "6, 2", std::string("\1\0\1\0\0\1\0\1\0\0\0\0", 12))},
          {"val_mask", npy("|b1", "6, 2", std::string("\0\1\0\1\1\0\1\0\0\0\0\0", 12))},
          {"test_mask", npy("|b1", "6,", std::string("\0\0\0\0\1\1", 6))}};
}

TEST_F(NpzReader, ReadsThePyTorchGeometricLayout) {
  Dataset dataset = read(geometric());
  EXPECT_EQ(row(dataset, 1), (std::vector<NodeId>{0, 2}));
  ASSERT_EQ(dataset.splits.size(), 2U);
  EXPECT_EQ(dataset.splits[0].train[1], 1U);
  EXPECT_EQ(dataset.splits[1].train[0], 2U);
  EXPECT_EQ(dataset.splits[1].test[0], 4U);  // one test mask serves all splits
  Dataset weighted =
      read(with(geometric(), "edge_weight", npy("<f8", "5,", raw<double>({1, 2, 3, 4, 5}))));
  ASSERT_EQ(weighted.edge_feature_count, 1U);
  EXPECT_EQ(weighted.edge_features[1], 1.0F);  // node 1: to 0, then to 2
  EXPECT_EQ(weighted.edge_features[2], 2.0F);
  EXPECT_SAYS(refused(with(geometric(), "edge_attr", npy("<f4", "4, 1", std::string(16, '\0')))),
              "a row per edge");
  EXPECT_SAYS(refused(with(geometric(), "edge_index", npy("<i8", "3, 4", std::string(96, '\0')))),
              "two rows or two columns");
  EXPECT_SAYS(refused(with(geometric(), "train_mask", npy("|b1", "0, 6", ""))), "no mask");
}

TEST_F(NpzReader, FeaturesLabelsAndTheOrderOfEndsAreFree) {
  Entries bare = {{"edge_index", npy("<i8", "5, 2", raw<int64_t>({0, 1, 1, 2, 2, 3, 3, 4, 4, 5}))}};
  Dataset dataset = read(bare);
  EXPECT_EQ(dataset.nodes(), 6U);
  EXPECT_EQ(row(dataset, 4), (std::vector<NodeId>{3, 5}));
  EXPECT_EQ(feature_count(dataset.features) + dataset.labels.outputs, 0U);
  EXPECT_EQ(read(with(bare, "num_nodes", npy("<i8", "", raw<int64_t>({9})))).nodes(), 9U);
  EXPECT_SAYS(refused(with(bare, "num_nodes", npy("<i8", "", raw<int64_t>({int64_t{1} << 31})))),
              "more than 5 edges can connect");
  Dataset labelled = read(with(bare, "y", pairs().at("node_labels")));
  EXPECT_EQ(labelled.labels.classes.size(), 6U);
  Dataset one = read(with(bare, "x", npy("<f4", "6,", raw<float>({1, 2, 3, 4, 5, 6}))));
  EXPECT_EQ(feature_count(one.features), 1U);
}

TEST_F(NpzReader, MissingFeaturesBecomeTheMeanAndAFlag) {
  std::vector<float> values(12, 1.0F);
  values[4] = 7.0F;
  values[6] = NAN;
  Dataset dataset = read(with(pairs(), "node_features", npy("<f4", "6, 2", raw(values))));
  auto view = std::get<DenseFeatures>(dataset.features).view();
  ASSERT_EQ(view.cols, 3U);
  EXPECT_FLOAT_EQ(view(3, 0), 2.2F);
  EXPECT_EQ(view(3, 2), 1.0F);
  EXPECT_EQ(view(2, 2), 0.0F);
}

// A weight is a feature of its edge, wherever a file keeps it; what is not used is said.
TEST_F(NpzReader, NoWeightIsDroppedAndWhatIsNotUsedIsSaid) {
  std::string lines;
  set_log_sink([&](std::string_view line) { lines += line; });
  Entries both =
      with(with(geometric(), "edge_weight", npy("<f4", "5,", raw<float>({5, 6, 7, 8, 9}))),
           "edge_attr", npy("<f4", "5, 1", raw<float>({1, 2, 3, 4, 5})));
  Dataset dataset = read(with(both, "train_idx", npy("<i8", "1,", raw<int64_t>({0}))));
  set_log_sink({});
  ASSERT_EQ(dataset.edge_feature_count, 2U);
  EXPECT_EQ(dataset.edge_features[0], 1.0F);
  EXPECT_EQ(dataset.edge_features[1], 5.0F);
  EXPECT_SAYS(lines, "not used: train_idx");
  Entries weighted = with(matrices(), "adj_data", npy("<f4", "3,", raw<float>({1, 2, 3})));
  EXPECT_EQ(read(weighted).edge_feature_count, 1U);
  EXPECT_EQ(read(matrices()).edge_feature_count, 0U);
  Entries scipy = {{"format", npy("|S3", "", "csr")}};
  for (const char* part : {"data", "indices", "indptr", "shape"})
    scipy[part] = weighted.at(std::string("adj_") + part);
  EXPECT_EQ(read(scipy).edge_feature_count, 1U);
  EXPECT_SAYS(refused(with(scipy, "format", npy("|S3", "", "csc"))), "matrix.tocsr()");
}

TEST_F(NpzReader, LabelsOfManyDigitsStayApart) {
  Entries codes =
      with(pairs(), "node_labels",
           npy("<i8", "6,",
               raw<int64_t>({16777216, 16777217, 16777216, 16777217, 541511001, 541511002})));
  EXPECT_EQ(read(codes).class_names,
            (std::vector<std::string>{"16777216", "16777217", "541511001", "541511002"}));
}

TEST_F(NpzReader, LabelsAreTakenForWhatTheyAre) {
  auto labels = [&](const std::string& array, ReadOptions options = {}) {
    write_npz(path(), with(pairs(), "node_labels", array));
    return read_dataset(path(), options);
  };
  Dataset real = labels(npy("<f4", "6,", raw<float>({0, 1, 0, NAN, 0, 0.5F})));
  EXPECT_EQ(real.labels.task, Task::regression);
  EXPECT_TRUE(std::isnan(real.labels.values[3]));
  auto one_hot = npy("|u1", "6, 2", std::string("\1\0\0\1\1\0\0\1\1\0\0\1", 12));
  EXPECT_EQ(labels(one_hot).labels.task, Task::classes);
  EXPECT_EQ(labels(one_hot).labels.classes[1], 1);
  auto many = npy("|u1", "6, 2", std::string("\1\1\0\1\1\0\0\1\1\0\0\1", 12));
  EXPECT_EQ(labels(many).labels.task, Task::binary_labels);
  auto text = npy("<S1", "6,", "babab" + std::string(1, '\0'));
  EXPECT_EQ(labels(text).class_names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(labels(text).labels.classes[5], -1);
  ReadOptions regression;
  regression.task = LabelTask::regression;
  EXPECT_EQ(labels(pairs().at("node_labels"), regression).labels.task, Task::regression);
  EXPECT_SAYS(refusal([&] { labels(text, regression); }), "holds text");
  Dataset gaps = labels(npy("<i8", "6,", raw<int64_t>({5, 7, 5, 7, -3, 7})));
  EXPECT_EQ(gaps.class_names, (std::vector<std::string>{"-3", "5", "7"}));
}

TEST_F(NpzReader, RejectsMasksThatOverlapAreEmptyOrOfAnotherLength) {
  auto mask = [](std::string text) { return npy("|b1", "1, 6", text); };
  EXPECT_SAYS(refused(with(pairs(), "val_masks", mask(std::string("\1\0\1\0\0\0", 6)))),
              "split 0 has node 0");
  EXPECT_SAYS(refused(with(pairs(), "val_masks", mask(std::string(6, '\0')))),
              "no validation nodes");
  EXPECT_SAYS(refused(with(pairs(), "val_masks", mask(std::string("\3\0\1\0\0\0", 6)))),
              "expected 0 or 1");
  EXPECT_SAYS(refused(with(pairs(), "val_masks", npy("|b1", "1, 5", std::string(5, '\1')))),
              "expected 6");
  Entries e = pairs();
  e.erase("val_masks");
  EXPECT_SAYS(refused(e), "no array 'val_masks'");
}

TEST_F(NpzReader, RejectsBrokenArrays) {
  auto features = [&](const std::string& bytes) {
    return refused(with(pairs(), "node_features", bytes));
  };
  EXPECT_SAYS(features("hello"), "not a numpy array");
  EXPECT_SAYS(features(npy("<f4", "6, 2", "short")), "5 are there");
  EXPECT_SAYS(features(npy("<f4", "4294967296, 4294967296, 4294967296", "")), "dimensions");
  EXPECT_SAYS(features(npy("<f4", "4294967296, 9294967296", "")), "absurd");
  EXPECT_SAYS(features(npy("<f4", "1000000000, 2", "12345678")), "8 are there");
  EXPECT_SAYS(features(npy(">f4", "6, 2", std::string(48, '\0'))), "big-endian");
  EXPECT_SAYS(features(npy("|O", "6, 2", "")), "Python objects");
  EXPECT_SAYS(features(npy("<c8", "6, 2", std::string(96, '\0'))), "'<c8'");
  EXPECT_SAYS(features(npy("<U1", "6, 2", std::string(48, '\0'))), "holds text");
  EXPECT_SAYS(features(npy("<f4", "-6, 2", "")), "whole number");
  std::string header = npy("<f4", "6, 2", std::string(48, '\0'));
  EXPECT_SAYS(features(header.substr(0, 40)), "cut short");
  header[6] = '\7';
  EXPECT_SAYS(features(header), "format 7");
}

TEST_F(NpzReader, RejectsBrokenCsr) {
  EXPECT_SAYS(refused(with(matrices(), "adj_indptr", npy("<i4", "4,", raw<int32_t>({0, 2, 1, 3})))),
              "do not ascend");
  EXPECT_SAYS(refused(with(matrices(), "adj_indptr", npy("<i4", "3,", raw<int32_t>({0, 1, 3})))),
              "expected 4");
  EXPECT_SAYS(refused(with(matrices(), "adj_shape", npy("<i8", "2,", raw<int64_t>({3, 4})))),
              "expected square");
  EXPECT_SAYS(refused(with(matrices(), "attr_data", npy("<f4", "2,", raw<float>({1, 1})))),
              "expected 3");
  EXPECT_SAYS(refused(with(matrices(), "attr_indices", npy("<i4", "3,", raw<int32_t>({1, 1, 0})))),
              "out of order");
}

TEST_F(NpzReader, RejectsEmptyGraphs) {
  EXPECT_SAYS(refused(with(pairs(), "edges", npy("<i8", "0, 2", ""))), "no edges");
  EXPECT_SAYS(refused(with(pairs(), "node_features", npy("<f4", "0, 2", ""))), "features");
  EXPECT_SAYS(refused({{"something", npy("<f4", "0,", "")}}), "something");
}

TEST_F(NpzReader, RejectsTruncatedAndDamagedArchives) {
  write_npz(path(), pairs());
  std::string whole = read_text(path());
  for (size_t cut : {size_t{3}, size_t{100}, whole.size() / 2, whole.size() - 1}) {
    write("x.npz", whole.substr(0, cut));
    read_refusal(path());
  }
  std::string damaged = whole;
  for (size_t i = 40; i < 60; ++i) damaged[i] ^= 0x55;
  write("x.npz", damaged);
  read_refusal(path());
}

// The sizes of an entry stand in the central directory; claiming more must not allocate it.
TEST_F(NpzReader, RejectsAZipBombBeforeAllocating) {
  write_npz(path(), {{"edges", npy("<i8", "5, 2", std::string(80, '\0'))}});
  std::string bytes = read_text(path());
  size_t central = bytes.find("PK\1\2");
  uint32_t claimed = 0xf0000000;
  std::memcpy(bytes.data() + central + 24, &claimed, 4);
  std::memcpy(bytes.data() + 22, &claimed, 4);
  write("x.npz", bytes);
  read_refusal(path());
}

}  // namespace
}  // namespace spex
