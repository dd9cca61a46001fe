#include <fmt/core.h>
#include <spex/core/files.h>
#include <spex/core/threads.h>
#include <spex/run/predict.h>

#include <cmath>
#include <numeric>
#include <sstream>

#include "gradient_check.h"
#include "run/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

// One trained run on a stored field of mines, shared by the tests.
class Predict : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    Config config = quick_config();
    config.data = *folder_ / "mines.safetensors";
    save_native(small_mines(20), config.data);
    config.final().recipe.epochs = 30;
    config.phase("estimator").recipe.epochs = 30;
    run(config, *folder_ / "run");
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static PredictOptions options() {
    PredictOptions options;
    options.run = *folder_ / "run";
    return options;
  }

  static double largest_difference(const Predictions& a, const Predictions& b) {
    double largest = 0;
    for (size_t i = 0; i < a.values.size(); ++i)
      largest =
          std::max(largest, std::abs(double{a.values.data()[i]} - double{b.values.data()[i]}));
    return largest;
  }

  static inline TemporaryFolder* folder_ = nullptr;
};

TEST_F(Predict, ProbabilitiesAddUpToOne) {
  Predictions all = predict(options());
  ASSERT_EQ(all.nodes.size(), 400U);
  ASSERT_EQ(all.values.cols(), 2U);
  for (size_t i = 0; i < 400; ++i) {
    EXPECT_NEAR(all.values(i, 0) + all.values(i, 1), 1.0, 1e-6);
    EXPECT_GE(all.values(i, 0), 0.0F);
  }
}

TEST_F(Predict, AgreesWithTheRunsOwnFile) {
  std::ostringstream text;
  write_csv(text, predict(options()));
  EXPECT_EQ(text.str(), read_text(*folder_ / "run" / "predictions.csv"));
}

TEST_F(Predict, AnyNodesInAnyBatchAreAsInTheWhole) {
  Predictions all = predict(options());
  for (size_t batch : {0, 1, 7}) {
    PredictOptions some = options();
    some.nodes = {399, 3, 17, 4};
    some.batch = batch;
    Predictions predictions = predict(some);
    ASSERT_EQ(predictions.nodes, some.nodes);
    for (size_t i = 0; i < some.nodes.size(); ++i)
      EXPECT_NEAR(predictions.values(i, 1), all.values(some.nodes[i], 1), 1e-6);
  }
}

TEST_F(Predict, SeveralSamplesAreAveraged) {
  PredictOptions two = options(), three = options();
  two.samples = 2;
  three.samples = 3;
  Predictions one = predict(options()), average2 = predict(two), average3 = predict(three);
  EXPECT_GT(largest_difference(one, average2), 1e-4) << "samples differ";
  EXPECT_GT(largest_difference(average2, average3), 1e-4);
  for (size_t i = 0; i < 400; ++i) {
    EXPECT_NEAR(average3.values(i, 0) + average3.values(i, 1), 1.0, 1e-5);
    // 3 a3 - 2 a2 is the third sample alone: a probability again.
    double third = 3.0 * average3.values(i, 1) - 2.0 * average2.values(i, 1);
    EXPECT_GE(third, -1e-5);
    EXPECT_LE(third, 1 + 1e-5);
  }
}

TEST_F(Predict, RunsOnAGraphItHasNotSeen) {
  Dataset other = small_mines(30, 5);
  save_native(other, *folder_ / "other.safetensors");
  PredictOptions on_other = options();
  on_other.data = *folder_ / "other.safetensors";
  Predictions predictions = predict(on_other);
  ASSERT_EQ(predictions.nodes.size(), 900U);
  for (size_t i = 0; i < 900; ++i)
    ASSERT_NEAR(predictions.values(i, 0) + predictions.values(i, 1), 1.0, 1e-6);
}

TEST_F(Predict, TheRunsOwnDataAsANewGraphGivesTheSame) {
  PredictOptions again = options();
  again.data = *folder_ / "mines.safetensors";
  EXPECT_LT(largest_difference(predict(options()), predict(again)), 1e-6);
}

// Also where a batch is smaller than the graph, and on its own data as a graph it has not seen.
TEST_F(Predict, EveryModelAgreesWithItsOwnRun) {
  for (const ModelInfo& info : models()) {
    SCOPED_TRACE(info.name);
    TemporaryFolder folder;
    Config config(info.name);
    config.data = *folder_ / "mines.safetensors";
    for (Phase& phase : config.phases) phase.recipe.epochs = 2;
    if (config.final().model->needs().batching != Batching::none)
      config.final().recipe.batch_size = 100;
    run(config, folder / "run");
    PredictOptions options;
    options.run = folder / "run";
    Predictions own = predict(options);
    // Batched runs write the nodes that they evaluated; their batches were other ones.
    std::istringstream written(read_text(folder / "run" / "predictions.csv"));
    std::string line;
    std::getline(written, line);
    size_t lines = 0;
    for (; std::getline(written, line); ++lines)
      ASSERT_NEAR(own.values(std::stoul(line), 1), std::stod(line.substr(line.rfind(',') + 1)),
                  5e-6);
    EXPECT_GT(lines, 50U);
    options.data = config.data;
    if (config.final().model->needs().own_nodes)
      EXPECT_SAYS(predict(options), "cannot predict on");
    else
      EXPECT_LT(largest_difference(own, predict(options)), 1e-6);
  }
}

TEST_F(Predict, AnotherNumberOfFeaturesIsASentence) {
  SbmOptions sbm;
  sbm.nodes = 200;
  sbm.features = 3;
  save_native(generate_sbm(sbm), *folder_ / "sbm.safetensors");
  PredictOptions wrong = options();
  wrong.data = *folder_ / "sbm.safetensors";
  EXPECT_SAYS(predict(wrong), "has 3 features, but the run was trained with 7");
}

TEST_F(Predict, NodesThatDoNotExistAreRefused) {
  PredictOptions wrong = options();
  wrong.nodes = {400};
  EXPECT_SAYS(predict(wrong), "there is no node 400: ids go from 0 to 399");
  wrong.nodes = {3, 17, 3};
  EXPECT_SAYS(predict(wrong), "node 3 is asked for twice");
}

// The same run on a data set whose nodes have names: asked for by them, and told by them.
TEST_F(Predict, NodesAreCalledWhatTheDataCallsThem) {
  Dataset named = small_mines(20);
  std::string names;
  std::vector<uint64_t> offsets = {0};
  for (size_t i = 0; i < named.nodes(); ++i)
    offsets.push_back((names += fmt::format("n{}", 3 * i)).size());
  auto keep = std::make_shared<std::pair<std::string, std::vector<uint64_t>>>(names, offsets);
  named.keys.offsets = {keep->second, keep};
  named.keys.text = {{reinterpret_cast<const uint8_t*>(keep->first.data()), names.size()}, keep};
  save_native(named, *folder_ / "named.safetensors");
  PredictOptions some = options();
  some.data = *folder_ / "named.safetensors";
  some.keys = {"n51", "n9"};
  Predictions predictions = predict(some);
  EXPECT_EQ(predictions.nodes, (std::vector<NodeId>{17, 3}));
  std::ostringstream text;
  write_csv(text, predictions);
  EXPECT_NE(text.str().find("\nn51,"), std::string::npos) << text.str();
  some.keys = {"n1"};
  EXPECT_SAYS(predict(some), "no node is called 'n1'");
}

TEST_F(Predict, AFolderWithoutARunIsRefused) {
  PredictOptions wrong;
  wrong.run = folder_->path;
  EXPECT_SAYS(predict(wrong), "holds no finished run");
}

TEST_F(Predict, DataThatChangedItsSizeIsRefused) {
  TemporaryFolder other;
  std::filesystem::copy(*folder_ / "run", other / "run", std::filesystem::copy_options::recursive);
  std::string config = read_text(other / "run/config.toml");
  save_native(small_mines(10), other / "mines.safetensors");
  config.replace(config.find(folder_->path.string()), folder_->path.string().size(),
                 other.path.string());
  write_text(other / "run/config.toml", config);
  PredictOptions options;
  options.run = other / "run";
  EXPECT_SAYS(predict(options), "has 100 nodes, but the run was trained on 400");
}

// The same nodes, another seed: equal shapes all over.
TEST_F(Predict, DataThatWasSwappedForAnotherOfEqualShapeIsRefused) {
  TemporaryFolder other;
  for (const char* model : {"spexphormer", "mlp"}) {
    Config config(model);
    config.data = other / "mines.safetensors";
    config.final().recipe.epochs = 2;
    if (config.phases.size() > 1) config.phases.front().recipe.epochs = 2;
    save_native(small_mines(12), config.data);
    RunOptions run_options;
    PredictOptions wanted;
    run_options.out = wanted.run = other / model;
    run_training(make_problem(small_mines(12), config), config, run_options, {});
    EXPECT_EQ(predict(wanted).nodes.size(), 144U);
    save_native(small_mines(12, 9), config.data);
    EXPECT_SAYS(predict(wanted), "is not what");
    wanted.data = config.data;
    EXPECT_EQ(predict(wanted).nodes.size(), 144U) << "named, it is a new data set";
    run_options.resume = true;
    EXPECT_SAYS(run_training(make_problem(small_mines(12, 9), config), config, run_options, {}),
                "belongs to other data");
  }
}

TEST(Probabilities, OfTwoClassesAreBothAboveZero) {
  Matrix logits(2, 1, MemoryTag::other);
  logits(0, 0) = 30.0F;
  logits(1, 0) = -30.0F;
  Matrix two = to_probabilities(logits, {Task::classes, {"no", "yes"}});
  EXPECT_NEAR(two(0, 0), std::exp(-30.0), 1e-18);
  EXPECT_NEAR(two(1, 1), std::exp(-30.0), 1e-18);
}

TEST(Probabilities, FollowTheTask) {
  Matrix logits(2, 3, MemoryTag::other);
  float numbers[] = {0, 1, 2, 1000, -1000, 0};
  std::copy(std::begin(numbers), std::end(numbers), logits.data());
  Matrix classes = to_probabilities(logits, {Task::classes, {"a", "b", "c"}});
  EXPECT_NEAR(classes(0, 2), std::exp(2) / (1 + std::exp(1) + std::exp(2)), 1e-6);
  EXPECT_EQ(classes(1, 0), 1.0F) << "large logits do not overflow";
  Matrix labels = to_probabilities(logits, {Task::binary_labels, {"a", "b", "c"}});
  EXPECT_NEAR(labels(0, 1), 1 / (1 + std::exp(-1)), 1e-6);
  EXPECT_EQ(labels(1, 1), 0.0F);
  Matrix targets = to_probabilities(logits, {Task::regression, {"a", "b", "c"}});
  EXPECT_EQ(targets(1, 0), 1000.0F);
  Matrix two =
      to_probabilities(logits.view().block(0, 1).columns(0, 1), {Task::classes, {"no", "yes"}});
  EXPECT_EQ(two(0, 0), 0.5F);
  EXPECT_THROW(to_probabilities(logits, {Task::classes, {"no", "yes"}}), Error);
}

}  // namespace
}  // namespace spex
