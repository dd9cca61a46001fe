#include <gtest/gtest.h>
#include <spex/spex.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "folder.h"

namespace spex {
namespace {

using testing_support::TemporaryFolder;

constexpr size_t kNodes = 60;

// A ring with two kinds of nodes, as arrays of C.
class CInterface : public testing::Test {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < kNodes; ++i) {
      edges[0][i] = static_cast<int32_t>(i);
      edges[1][i] = static_cast<int32_t>((i + 1) % kNodes);
      labels[i] = i < kNodes / 2 ? 0 : 1;
      features[i][0] = static_cast<float>(labels[i]);
      features[i][1] = std::sin(static_cast<float>(i));
    }
  }
  void TearDown() override {
    spex_result_free(result);
    spex_run_free(run);
    spex_dataset_free(data);
  }

  spex_array edge_array() const {
    return {edges, SPEX_INT32, 2, {2, kNodes}, {sizeof edges[0], sizeof edges[0][0]}};
  }
  spex_array feature_array() const {
    return {features, SPEX_FLOAT32, 2, {kNodes, 2}, {sizeof features[0], sizeof(float)}};
  }
  spex_array label_array() const { return {labels, SPEX_INT8, 1, {kNodes, 0}, {1, 0}}; }
  static spex_array nodes_of(const std::vector<int64_t>& nodes) {
    return {nodes.data(), SPEX_INT64, 1, {nodes.size(), 0}, {sizeof(int64_t), 0}};
  }

  void build() {
    ASSERT_EQ(spex_dataset_new("ring", 0, &data), SPEX_OK);
    ASSERT_EQ(spex_dataset_edges(data, edge_array(), 0), SPEX_OK);
    ASSERT_EQ(spex_dataset_features(data, feature_array()), SPEX_OK);
    ASSERT_EQ(spex_dataset_labels(data, label_array(), SPEX_TASK_BY_VALUES), SPEX_OK);
    ASSERT_EQ(spex_dataset_build(data), SPEX_OK) << spex_last_error();
  }
  void fit(spex_epoch_function on_epoch = nullptr, void* user = nullptr) {
    const char* settings[] = {"gcn.epochs=5", "gcn.width=4", "gcn.layers=2", "threads=1"};
    spex_fit_options options{};
    options.size = sizeof options;
    options.model = "gcn";
    options.settings = settings;
    options.setting_count = 4;
    ASSERT_EQ(spex_fit(data, &options, on_epoch, user, &run), SPEX_OK) << spex_last_error();
  }
  std::vector<float> predict(const std::vector<int64_t>& nodes) {
    spex_result_free(result);
    result = nullptr;
    EXPECT_EQ(spex_run_predict(run, SPEX_PROBABILITIES, nodes_of(nodes), nullptr, &result), SPEX_OK)
        << spex_last_error();
    spex_array array = spex_result_array(result);
    const auto* values = static_cast<const float*>(array.data);
    return {values, values + array.shape[0] * array.shape[1]};
  }

  // A part of the data set, copied.
  template <class T>
  std::vector<T> part(spex_part part, size_t split = 0) const {
    spex_array array{};
    EXPECT_EQ(spex_dataset_part(data, part, split, &array), SPEX_OK) << spex_last_error();
    const auto* values = static_cast<const T*>(array.data);
    return {values, values + array.shape[0] * (array.dimensions > 1 ? array.shape[1] : 1)};
  }

  int32_t edges[2][kNodes];
  float features[kNodes][2];
  int8_t labels[kNodes];
  spex_dataset* data = nullptr;
  spex_run* run = nullptr;
  spex_result* result = nullptr;
};

TEST_F(CInterface, TrainsAndPredictsInTheOrderAskedFor) {
  build();
  fit();
  std::vector<float> all = predict({0, 1, 2, 3}), some = predict({3, 1, 3});
  ASSERT_EQ(some.size(), 6U);
  EXPECT_EQ(some[0], all[6]);
  EXPECT_EQ(some[2], all[2]);
  EXPECT_EQ(some[4], all[6]);
}

TEST_F(CInterface, StridesAreFollowedWhateverTheyAre) {
  build();
  fit();
  std::vector<float> expected = predict({0, 1, 2});
  spex_run_free(run);
  spex_dataset_free(data);
  // The same numbers, column after column, nodes backwards, as doubles at odd addresses.
  std::vector<char> odd(1 + sizeof(double) * 2 * kNodes);
  for (size_t i = 0; i < kNodes; ++i)
    for (size_t c = 0; c < 2; ++c) {
      double value = features[i][c];
      std::memcpy(odd.data() + 1 + sizeof value * (c * kNodes + kNodes - 1 - i), &value,
                  sizeof value);
    }
  spex_array strange = {
      odd.data() + 1 + sizeof(double) * (kNodes - 1),
      SPEX_FLOAT64,
      2,
      {kNodes, 2},
      {-static_cast<ptrdiff_t>(sizeof(double)), static_cast<ptrdiff_t>(sizeof(double) * kNodes)}};
  ASSERT_EQ(spex_dataset_new("ring", 0, &data), SPEX_OK);
  ASSERT_EQ(spex_dataset_edges(data, edge_array(), 0), SPEX_OK);
  ASSERT_EQ(spex_dataset_features(data, strange), SPEX_OK);
  ASSERT_EQ(spex_dataset_labels(data, label_array(), SPEX_TASK_CLASSES), SPEX_OK);
  ASSERT_EQ(spex_dataset_build(data), SPEX_OK) << spex_last_error();
  fit();
  EXPECT_EQ(predict({0, 1, 2}), expected);
}

TEST_F(CInterface, AnAdjacencyInCompressedRowsIsTheSameGraph) {
  build();
  spex_dataset* other = nullptr;
  std::vector<uint64_t> offsets(kNodes + 1);
  for (size_t i = 0; i <= kNodes; ++i) offsets[i] = i;
  spex_array rows = {offsets.data(), SPEX_UINT64, 1, {kNodes + 1, 0}, {8, 0}};
  spex_array columns = {edges[1], SPEX_INT32, 1, {kNodes, 0}, {4, 0}};
  ASSERT_EQ(spex_dataset_new("ring", 0, &other), SPEX_OK);
  ASSERT_EQ(spex_dataset_adjacency(other, rows, columns, 0), SPEX_OK);
  ASSERT_EQ(spex_dataset_build(other), SPEX_OK) << spex_last_error();
  spex_array a{}, b{};
  ASSERT_EQ(spex_dataset_part(data, SPEX_NEIGHBOURS, 0, &a), SPEX_OK);
  ASSERT_EQ(spex_dataset_part(other, SPEX_NEIGHBOURS, 0, &b), SPEX_OK);
  ASSERT_EQ(a.shape[0], b.shape[0]);
  EXPECT_EQ(std::memcmp(a.data, b.data, 4 * a.shape[0]), 0);
  spex_dataset_free(other);
}

TEST_F(CInterface, ADirectedEdgeIsSeenByItsTargetAlone) {
  ASSERT_EQ(spex_dataset_new("ring", 0, &data), SPEX_OK);
  ASSERT_EQ(spex_dataset_edges(data, edge_array(), SPEX_DIRECTED), SPEX_OK);
  ASSERT_EQ(spex_dataset_build(data), SPEX_OK) << spex_last_error();
  auto neighbours = part<uint32_t>(SPEX_NEIGHBOURS);
  ASSERT_EQ(neighbours.size(), kNodes);
  for (size_t i = 0; i < kNodes; ++i) EXPECT_EQ(neighbours[i], (i + kNodes - 1) % kNodes);
}

TEST_F(CInterface, EachColumnOfAMaskIsASplit) {
  uint8_t train[kNodes][2], rest[kNodes];
  std::vector<uint32_t> expected[2];
  std::vector<int64_t> test = {59, 57};
  for (size_t i = 0; i < kNodes; ++i) {
    for (size_t s : {0, 1})
      if ((train[i][s] = i < 40 && i % 2 == s)) expected[s].push_back(static_cast<uint32_t>(i));
    rest[i] = i >= 40 && i < 50;
  }
  ASSERT_EQ(spex_dataset_new("ring", 0, &data), SPEX_OK);
  ASSERT_EQ(spex_dataset_edges(data, edge_array(), 0), SPEX_OK);
  ASSERT_EQ(spex_dataset_split(data, {train, SPEX_BOOL, 2, {kNodes, 2}, {2, 1}},
                               {rest, SPEX_BOOL, 1, {kNodes, 0}, {1, 0}}, nodes_of(test)),
            SPEX_OK);
  ASSERT_EQ(spex_dataset_build(data), SPEX_OK) << spex_last_error();
  for (size_t s : {0, 1}) {
    EXPECT_EQ(part<uint32_t>(SPEX_TRAIN, s), expected[s]);
    EXPECT_EQ(part<uint32_t>(SPEX_VALIDATION, s).size(), 10U);
    EXPECT_EQ(part<uint32_t>(SPEX_TEST, s), (std::vector<uint32_t>{57, 59}));
  }
}

TEST_F(CInterface, LabelsThatAreNotKnownStayUnknown) {
  float binary[kNodes][2] = {}, classes[kNodes] = {};
  binary[3][1] = -1;
  binary[4][0] = 1;
  classes[1] = 1;
  classes[5] = NAN;
  ASSERT_EQ(spex_dataset_new("ring", 0, &data), SPEX_OK);
  ASSERT_EQ(spex_dataset_edges(data, edge_array(), 0), SPEX_OK);
  spex_array many = {binary, SPEX_FLOAT32, 2, {kNodes, 2}, {8, 4}};
  ASSERT_EQ(spex_dataset_labels(data, many, SPEX_TASK_BY_VALUES), SPEX_OK);
  ASSERT_EQ(spex_dataset_build(data), SPEX_OK) << spex_last_error();
  auto values = part<float>(SPEX_LABELS);
  EXPECT_TRUE(std::isnan(values[7]));
  EXPECT_EQ(values[8], 1.0F);
  spex_dataset_free(data);
  ASSERT_EQ(spex_dataset_new("ring", 0, &data), SPEX_OK);
  ASSERT_EQ(spex_dataset_edges(data, edge_array(), 0), SPEX_OK);
  spex_array one = {classes, SPEX_FLOAT32, 1, {kNodes, 0}, {4, 0}};
  ASSERT_EQ(spex_dataset_labels(data, one, SPEX_TASK_CLASSES), SPEX_OK);
  ASSERT_EQ(spex_dataset_build(data), SPEX_OK) << spex_last_error();
  auto known = part<int32_t>(SPEX_LABELS);
  EXPECT_EQ(known[5], -1);
  EXPECT_EQ(known[1], 1);
}

// Of the type that is kept, but with something between the numbers.
TEST_F(CInterface, ArraysWithGapsAreNotTakenForPackedOnes) {
  float wide[kNodes][3];
  uint64_t offsets[kNodes + 1][2];
  for (size_t i = 0; i < kNodes; ++i) {
    wide[i][0] = features[i][0], wide[i][1] = features[i][1], wide[i][2] = 99;
    offsets[i][0] = i, offsets[i][1] = 99;
  }
  offsets[kNodes][0] = kNodes;
  ASSERT_EQ(spex_dataset_new("ring", 0, &data), SPEX_OK);
  ASSERT_EQ(spex_dataset_edges(data, edge_array(), 0), SPEX_OK);
  spex_array dense = {wide, SPEX_FLOAT32, 2, {kNodes, 2}, {sizeof wide[0], sizeof(float)}};
  ASSERT_EQ(spex_dataset_features(data, dense), SPEX_OK);
  ASSERT_EQ(spex_dataset_build(data), SPEX_OK) << spex_last_error();
  auto kept = part<float>(SPEX_FEATURES);
  ASSERT_EQ(kept.size(), 2 * kNodes);
  EXPECT_EQ(std::memcmp(kept.data(), features, sizeof features), 0);
  spex_dataset_free(data);
  std::vector<uint32_t> columns(kNodes, 3);
  std::vector<float> values(kNodes, 0.5F);
  ASSERT_EQ(spex_dataset_new("ring", 0, &data), SPEX_OK);
  ASSERT_EQ(spex_dataset_edges(data, edge_array(), 0), SPEX_OK);
  ASSERT_EQ(spex_dataset_sparse_features(
                data, {offsets, SPEX_UINT64, 1, {kNodes + 1, 0}, {sizeof offsets[0], 0}},
                {columns.data(), SPEX_UINT32, 1, {kNodes, 0}, {4, 0}},
                {values.data(), SPEX_FLOAT32, 1, {kNodes, 0}, {4, 0}}, 5),
            SPEX_OK);
  ASSERT_EQ(spex_dataset_build(data), SPEX_OK) << spex_last_error();
  auto rows = part<uint64_t>(SPEX_FEATURE_OFFSETS);
  ASSERT_EQ(rows.size(), kNodes + 1);
  for (size_t i = 0; i <= kNodes; ++i) EXPECT_EQ(rows[i], i);
}

TEST_F(CInterface, AttentionIsThatOfTheEdgesAskedFor) {
  build();
  const char* settings[] = {"exphormer.epochs=2", "exphormer.width=4", "exphormer.heads=1",
                            "exphormer.layers=1", "threads=1",         "expander.degree=0"};
  spex_fit_options options{};
  options.size = sizeof options;
  options.model = "exphormer";
  options.settings = settings;
  options.setting_count = 6;
  ASSERT_EQ(spex_fit(data, &options, nullptr, nullptr, &run), SPEX_OK) << spex_last_error();
  auto scores = [&](spex_array asked) {
    spex_result_free(result);
    result = nullptr;
    EXPECT_EQ(spex_run_attention(run, 0, asked, &result), SPEX_OK) << spex_last_error();
    spex_array array = spex_result_array(result);
    const auto* values = static_cast<const float*>(array.data);
    return std::vector<float>(values, values + array.shape[0]);
  };
  // What node 5 looks at: both of its neighbours and itself; neither node 30 nor node 2.
  int64_t asked[2][5] = {{4, 6, 5, 30, 2}, {5, 5, 5, 5, 5}};
  std::vector<float> some =
      scores({asked, SPEX_INT64, 2, {2, 5}, {sizeof asked[0], sizeof(int64_t)}});
  EXPECT_NEAR(some[0] + some[1] + some[2], 1.0F, 2e-3F);
  EXPECT_TRUE(std::isnan(some[3]) && std::isnan(some[4]));
  std::vector<float> all = scores({});
  ASSERT_EQ(all.size(), 2 * kNodes);
  EXPECT_EQ(all[10], some[0]);
  EXPECT_EQ(all[11], some[1]);
}

TEST_F(CInterface, ACallbackStopsTheRunWhichThenPredictsAndIsSaved) {
  build();
  size_t epochs = 0;
  fit([](const spex_epoch*, void* user) { return int{++*static_cast<size_t*>(user) == 3}; },
      &epochs);
  spex_run_facts facts{};
  ASSERT_EQ(spex_run_describe(run, &facts), SPEX_OK);
  EXPECT_EQ(epochs, 3U);
  EXPECT_FALSE(facts.finished);
  EXPECT_TRUE(facts.can_predict);
  std::vector<float> before = predict({5, 6});
  TemporaryFolder folder;
  std::string place = folder / "run";
  ASSERT_EQ(spex_run_save(run, place.c_str()), SPEX_OK) << spex_last_error();
  spex_run_free(run);
  run = nullptr;
  ASSERT_EQ(spex_run_load(place.c_str(), &run), SPEX_OK) << spex_last_error();
  EXPECT_EQ(predict({5, 6}), before);
}

TEST_F(CInterface, RefusesWithASentenceAndNeverCrashes) {
  auto says = [](spex_status status, const std::string& part) {
    EXPECT_EQ(status, SPEX_REFUSED);
    EXPECT_NE(std::string(spex_last_error()).find(part), std::string::npos) << spex_last_error();
  };
  says(spex_dataset_build(nullptr), "NULL");
  says(spex_fit(nullptr, nullptr, nullptr, nullptr, &run), "NULL");
  says(spex_dataset_open("nowhere.npz", &data), "does not exist");
  ASSERT_EQ(spex_dataset_new("ring", 0, &data), SPEX_OK);
  says(spex_dataset_build(data), "no edges");
  says(spex_dataset_features(data, {}), "dimensions");
  spex_array unknown = feature_array();
  unknown.type = 77;
  says(spex_dataset_features(data, unknown), "type 77 is not known");
  spex_array without_data = feature_array();
  without_data.data = nullptr;
  says(spex_dataset_features(data, without_data), "NULL");
  spex_fit_options options{};
  says(spex_fit(data, &options, nullptr, nullptr, &run), "sizeof");
  options.size = sizeof options;
  says(spex_fit(data, &options, nullptr, nullptr, &run), "not built");
  EXPECT_EQ(data != nullptr, true);
  EXPECT_EQ(run, nullptr);
}

TEST_F(CInterface, ModelsAreListedWithTheirSettings) {
  const char* json = nullptr;
  ASSERT_EQ(spex_models(&json), SPEX_OK);
  EXPECT_NE(std::string(json).find("\"gcn.width\""), std::string::npos);
  EXPECT_STREQ(spex_version(), SPEX_VERSION);
}

TEST_F(CInterface, ASearchGivesTheWinnersSettings) {
  build();
  const char* models[] = {"gcn"};
  const char* settings[] = {"gcn.epochs=4", "threads=1"};
  spex_fit_options options{};
  options.size = sizeof options;
  options.settings = settings;
  options.setting_count = 2;
  spex_tune_options tuning{};
  tuning.size = sizeof tuning;
  tuning.models = models;
  tuning.model_count = tuning.seeds = 1;
  tuning.trials = 2;
  tuning.budget_seconds = 60;
  char* json = nullptr;
  ASSERT_EQ(spex_tune(data, &tuning, &options, nullptr, nullptr, &json), SPEX_OK)
      << spex_last_error();
  ASSERT_NE(json, nullptr);
  EXPECT_NE(std::strstr(json, "\"gcn.epochs\":\"4\""), nullptr) << json;
  spex_text_free(json);
  json = nullptr;
  options.stop = [](void*) { return 1; };
  ASSERT_EQ(spex_tune(data, &tuning, &options, nullptr, nullptr, &json), SPEX_OK);
  EXPECT_EQ(json, nullptr);
}

TEST_F(CInterface, AFitOfAFileIsThatOfItsDataSet) {
  TemporaryFolder folder;
  build();
  std::string file = (folder / "ring.safetensors").string();
  ASSERT_EQ(spex_dataset_save(data, file.c_str()), SPEX_OK);
  fit();
  std::vector<float> expected = predict({0, 7});
  spex_run_free(run);
  run = nullptr;
  const char* settings[] = {"gcn.epochs=5", "gcn.width=4", "gcn.layers=2", "threads=1"};
  spex_fit_options options{};
  options.size = sizeof options;
  options.model = "gcn";
  options.settings = settings;
  options.setting_count = 4;
  ASSERT_EQ(spex_fit_file(file.c_str(), &options, nullptr, nullptr, &run), SPEX_OK)
      << spex_last_error();
  EXPECT_EQ(predict({0, 7}), expected);
}

}  // namespace
}  // namespace spex
