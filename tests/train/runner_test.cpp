// What the runner and the batches hand to a model: a spy in its place writes it down.
#include <spex/model/layers.h>
#include <spex/train/runner.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "run/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

// A linear map that remembers the passes it saw.
class Spy : public Model {
 public:
  explicit Spy(const Shape& shape) : Model(shape) {
    Maker maker{*this, 0};
    linear_ = Linear(maker, "linear", shape.inputs, shape.outputs, true);
  }
  Var forward(Tape& tape, const ModelInput& input, const Neighbourhood&,
              const Pass& pass) override {
    passes.push_back(pass);
    return linear_(tape, input);
  }
  std::vector<Pass> passes;

 private:
  Linear linear_;
};

struct Stage {
  Stage(const std::string& model, size_t batch_size, const std::vector<std::string>& settings = {})
      : config(model) {
    for (const std::string& setting : settings) apply_setting(config, setting);
    config.threads = 1;
    problem = make_problem(small_mines(12), config);
    needs = config.final().model->needs();
    batches = make_batches(problem, problem.split.train.span(), needs, {batch_size, 5});
  }
  // The nodes whose loss counts, step by step.
  std::vector<std::vector<NodeId>> trained(size_t epoch) {
    std::vector<std::vector<NodeId>> steps;
    batches->train(epoch, [&](const Step& step) {
      auto& nodes = steps.emplace_back();
      for (NodeId row : step.rows) nodes.push_back(step.node(row));
    });
    return steps;
  }
  Config config;
  Problem problem;
  Needs needs;
  std::unique_ptr<Batches> batches;
};

std::vector<NodeId> joined(const std::vector<std::vector<NodeId>>& steps) {
  std::vector<NodeId> all;
  for (const auto& step : steps) all.insert(all.end(), step.begin(), step.end());
  return all;
}

TEST(Batches, HaveEveryTrainingNodeOnceAndAnotherOrderInEveryEpoch) {
  for (const char* model : {"mlp", "gat-nsampler", "gcn"}) {
    SCOPED_TRACE(model);
    Stage stage(model, 20);
    auto first = stage.trained(0), second = stage.trained(1);
    EXPECT_GT(first.size(), 2U);
    EXPECT_EQ(stage.trained(0), first) << "the same epoch, the same batches";
    EXPECT_NE(first.front(), second.front());
    for (const auto& steps : {first, second}) {
      std::vector<NodeId> all = joined(steps);
      std::sort(all.begin(), all.end());
      auto train = stage.problem.split.train.span();
      EXPECT_TRUE(std::equal(all.begin(), all.end(), train.begin(), train.end()));
    }
  }
}

// Where each node of a whole sample looks in the first layer.
std::vector<NodeId> drawn(Stage& stage, size_t epoch) {
  std::vector<NodeId> neighbours;
  stage.batches->evaluate(epoch, {}, [&](const Step& step) {
    const NeighbourMatrix& pattern = *step.neighbourhood->layers.front().attention->sample;
    for (size_t i = 0; i < pattern.queries; ++i)
      for (size_t e = 0; e < pattern.count(i); ++e)
        neighbours.push_back(pattern.indices[i * pattern.k + e]);
  });
  return neighbours;
}

TEST(Batches, ASampleLastsAsManyEpochsAsItIsAskedTo) {
  Stage stage("spexphormer", 0, {"spexphormer.sampling=uniform", "spexphormer.resample_every=3"});
  auto first = drawn(stage, 0);
  EXPECT_EQ(drawn(stage, 1), first);
  EXPECT_EQ(drawn(stage, 2), first);
  EXPECT_NE(drawn(stage, 3), first);
  EXPECT_EQ(drawn(stage, 0), first) << "a sample is a function of its number";
  stage.batches =
      make_batches(stage.problem, stage.problem.split.train.span(), stage.needs, {0, 6});
  EXPECT_NE(drawn(stage, 0), first) << "and of the seed";
}

TEST(Batches, BatchNormCountsTheTrainingNodesUnlessAllAreWanted) {
  for (const char* model : {"gcn", "spexphormer"}) {
    SCOPED_TRACE(model);
    Stage stage(model, 0,
                model == std::string("gcn")
                    ? std::vector<std::string>{}
                    : std::vector<std::string>{"spexphormer.sampling=uniform"});
    auto train = stage.problem.split.train.span();
    for (bool all : {false, true}) {
      auto batches = make_batches(stage.problem, train, stage.needs, {0, 5, all});
      batches->train(0, [&](const Step& step) {
        EXPECT_EQ(step.counted.rows.size(), all ? 0 : train.size());
        EXPECT_EQ(step.counted.of, all ? 0 : 144U);
      });
    }
  }
}

TEST(Runner, EveryStepHasItsOwnNumberAndTheSettingsOfItsEpoch) {
  Stage stage("mlp", 25);
  Objective objective(stage.problem.data.labels, Metric::automatic);
  Spy model({feature_count(stage.problem.data.features), objective.outputs(), 0, 144});
  Adam optimiser(model.parameters(), {});
  Runner runner({model, objective, optimiser, *stage.batches, 144, 0.0, 42});
  runner.train({7, 0.01, 0.5F});
  runner.train({8, 0.01, 0.25F});
  std::set<uint32_t> steps;
  for (const Pass& pass : model.passes) {
    EXPECT_TRUE(pass.training);
    EXPECT_EQ(pass.seed, 42U);
    EXPECT_EQ(pass.temperature, pass.epoch == 7 ? 0.5F : 0.25F);
    steps.insert(pass.step);
  }
  EXPECT_GT(steps.size(), 4U);
  EXPECT_EQ(steps.size(), model.passes.size());
  model.passes.clear();
  runner.evaluate({9, 0.01, 0.125F}, stage.problem.split.validation.span());
  for (const Pass& pass : model.passes) {
    EXPECT_FALSE(pass.training);
    EXPECT_EQ(pass.temperature, 0.125F);
    EXPECT_EQ(pass.epoch, 9U);
  }
}

// With a rate of 0 the network stays as it is, so the batches' mean is that of all nodes.
TEST(Runner, TheLossOfAnEpochIsTheMeanOverNodesThoughTheLastBatchIsSmaller) {
  Stage batched("mlp", 50), whole("mlp", 0);
  ASSERT_NE(batched.problem.split.train.size() % 50, 0U);
  Objective objective(batched.problem.data.labels, Metric::automatic);
  Spy model({feature_count(batched.problem.data.features), objective.outputs(), 0, 144});
  Adam optimiser(model.parameters(), {});
  double in_batches =
      Runner({model, objective, optimiser, *batched.batches, 144, 0.0, 1}).train({0, 0.0}).loss;
  double at_once =
      Runner({model, objective, optimiser, *whole.batches, 144, 0.0, 1}).train({0, 0.0}).loss;
  EXPECT_NEAR(in_batches, at_once, 1e-6);
}

TEST(Runner, GradientsAreClipped) {
  Stage stage("mlp", 0);
  Objective objective(stage.problem.data.labels, Metric::automatic);
  Spy model({feature_count(stage.problem.data.features), objective.outputs(), 0, 144});
  Adam optimiser(model.parameters(), {});
  Runner({model, objective, optimiser, *stage.batches, 144, 1e-3, 1}).train({0, 0.01});
  double squares = 0;
  for (const Parameter& each : model.parameters())
    for (float value : each.gradient.span()) squares += double{value} * double{value};
  EXPECT_NEAR(std::sqrt(squares), 1e-3, 1e-5);
}

}  // namespace
}  // namespace spex
