#include <gtest/gtest.h>
#include <spex/core/log.h>
#include <spex/data/splits.h>
#include <spex/graph/builder.h>
#include <spex/run/defaults.h>

#include <cmath>
#include <map>
#include <sstream>

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

// What the log says of the trials: each shape's validation metric in percent, how many nodes it is
// of, and which shapes were chosen.
struct Tried {
  std::map<std::string, double> shapes;
  double nodes = 0;
  std::vector<std::string> chosen;
  Config config;
};

// Words between commas, say.
std::vector<std::string> parts_of(std::string text, char mark) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  while (std::getline(in >> std::ws, text, mark)) parts.push_back(text);
  return parts;
}

Tried trials_of(const Dataset& data) {
  Tried tried;
  set_log_sink([&](std::string_view line) {
    std::string text(line);
    size_t colon = text.find(": ");
    if (text.starts_with("chosen: ")) tried.chosen = parts_of(text.substr(colon + 2), ';');
    if (!text.starts_with("tried by ")) return;
    tried.nodes = std::stod(text.substr(text.find("by ") + 3));
    size_t folds = text.find("each of ");
    EXPECT_NE(folds, std::string::npos) << "so few nodes are judged in folds: " << text;
    if (folds != std::string::npos) tried.nodes *= std::stod(text.substr(folds + 8));
    for (const std::string& part : parts_of(text.substr(colon + 2), ',')) {
      size_t space = part.rfind(' ');
      tried.shapes[part.substr(0, space)] = std::stod(part.substr(space + 1));
    }
  });
  tried.config = default_config(data, "spexphormer-local");
  set_log_sink({});
  return tried;
}

// One test of both, for every choice is thirty trainings.
TEST(Defaults, TakeTheBestShapesInTurnWhateverTheTestLabels) {
  Dataset data = small_mines(8, 1);
  Tried tried = trials_of(data);
  ASSERT_EQ(tried.shapes.size(), 9U);
  ASSERT_FALSE(tried.chosen.empty());
  double best = tried.shapes.at(tried.chosen.front()), share = best / 100;
  double error = 100 * std::sqrt(share * (1 - share) / tried.nodes), before = best;
  for (const std::string& each : tried.chosen) {
    EXPECT_LE(tried.shapes.at(each), before) << each;
    EXPECT_GE(tried.shapes.at(each), best - error - 0.1) << each << ": rounded to tenths";
    before = tried.shapes.at(each);
  }
  size_t level = 0;
  for (const auto& [name, score] : tried.shapes) {
    bool attends = name.ends_with(" and attention") && name != tried.chosen.front();
    if (attends) continue;
    EXPECT_LE(score, best) << name;
    level += score > best - error + 0.1 ? 1 : 0;
  }
  EXPECT_GT(level, 1U) << "otherwise there is nothing to take in turn";
  EXPECT_GE(tried.chosen.size(), std::min<size_t>(level, 5));
  EXPECT_EQ(network_phases(tried.config).size(), tried.chosen.size());
  EXPECT_GT(tried.config.final().recipe.patience, 0U);
  EXPECT_EQ(tried.config.members, 5U) << "few nodes";

  Split split = choose_split(data, {});
  ASSERT_GT(split.test.size(), 5U);
  Config other = default_config(with_other_test_labels(data, split), "spexphormer-local");
  EXPECT_EQ(to_toml(tried.config), to_toml(other));
}

TEST(Defaults, AGainIsWorthwhileFromHalfAStandardErrorOn) {
  EXPECT_NEAR(worthwhile_gain(0.5, 100), 0.025, 1e-12);
  EXPECT_NEAR(worthwhile_gain(0.9, 400), 0.0075, 1e-12);
  EXPECT_EQ(worthwhile_gain(0.9, 1'000'000), 0.002);
  EXPECT_EQ(worthwhile_gain(-3.0, 100), 0.002) << "no share";
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

// One cell of five is a mine.
TEST(Defaults, ClassesAreTakenToBeAsFrequentAsAmongValidationNodes) {
  Dataset data = small_mines(40);
  auto weights = [&](const char* counts, Metric metric) {
    SplitConfig split;
    split.counts = counts;
    split.metric = metric;
    return default_config(data, "spexphormer", split).final().recipe.class_weights;
  };
  EXPECT_EQ(weights("100/400/400", Metric::accuracy), ClassWeights::validation);
  EXPECT_EQ(weights("100/400/400", Metric::automatic), ClassWeights::none) << "ROC-AUC: no matter";
  EXPECT_EQ(weights("", Metric::accuracy), ClassWeights::none) << "a random split has equal shares";
}

TEST(Defaults, LargeGraphsTrainInBatches) {
  EXPECT_EQ(default_model(small_mines(8)), "spexphormer-local");
  Config config = default_config(small_mines(8), "spexphormer");
  EXPECT_EQ(config.final().recipe.batch_size, 0U);
  EXPECT_EQ(config.final().model->needs().layers, 4U);
}

}  // namespace
}  // namespace spex
