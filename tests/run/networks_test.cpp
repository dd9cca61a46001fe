// Several networks that predict together: the average, and what a run keeps of them.
#include <spex/core/files.h>
#include <spex/core/random.h>
#include <spex/run/networks.h>
#include <spex/run/predict.h>

#include <cmath>
#include <numeric>

#include "run/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT
namespace fs = std::filesystem;

Matrix random_logits(size_t columns, uint64_t seed, float size) {
  constexpr size_t kRows = 40;
  Matrix logits(kRows, columns, MemoryTag::other);
  Random random(seed, Purpose::generator);
  for (size_t i = 0; i < logits.size(); ++i)
    logits.span()[i] = size * (2 * static_cast<float>(random.uniform(i)) - 1);
  return logits;
}

Meaning meaning_of(Task task, size_t outputs) {
  return {task, std::vector<std::string>(outputs, "x")};
}

Matrix average_of(std::vector<Matrix> logits, Task task) {
  LogitAverage average(task);
  for (Matrix& each : logits) average.add(std::move(each));
  return average.take();
}

double mean_test(const std::vector<SeedResult>& results) {
  double sum = 0;
  for (const SeedResult& each : results) sum += each.test;
  return sum / static_cast<double>(results.size());
}

struct Case {
  Task task;
  size_t columns, outputs;  // two classes have one logit
};

class LogitAverages : public testing::TestWithParam<Case> {};

// The average of the probabilities, computed in double precision from their definition.
TEST_P(LogitAverages, HaveTheAverageOfTheProbabilities) {
  auto [task, columns, outputs] = GetParam();
  for (float size : {1.0F, 30.0F}) {
    std::vector<Matrix> logits;
    Meaning meaning = meaning_of(task, outputs);
    std::vector<double> expected(40 * outputs, 0.0);
    for (uint64_t seed = 0; seed < 3; ++seed) {
      logits.push_back(random_logits(columns, seed, size));
      Matrix one = to_probabilities(logits.back(), meaning);
      for (size_t i = 0; i < expected.size(); ++i) expected[i] += one.span()[i] / 3.0;
    }
    Matrix found = to_probabilities(average_of(std::move(logits), task), meaning);
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(found.span()[i], expected[i], 2e-6 * std::max(1.0, expected[i])) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, LogitAverages,
                         testing::Values(Case{Task::classes, 1, 2}, Case{Task::classes, 5, 5},
                                         Case{Task::binary_labels, 3, 3},
                                         Case{Task::regression, 2, 2}));

TEST(LogitAverage, StayFiniteWhereEveryNetworkIsSure) {
  for (Task task : {Task::classes, Task::binary_labels}) {
    std::vector<Matrix> logits;
    for (float sure : {300.0F, 200.0F, 400.0F}) {
      logits.emplace_back(1, 2, MemoryTag::other);
      logits.back()(0, 0) = sure;
      logits.back()(0, 1) = -sure;
    }
    Matrix found = average_of(std::move(logits), task);
    for (float value : found.span()) EXPECT_TRUE(std::isfinite(value));
    EXPECT_GT(found(0, 0), found(0, 1) + 190);
  }
}

TEST(LogitAverage, OfOneNetworkAreItsOwnBits) {
  std::vector<Matrix> one;
  one.push_back(random_logits(4, 7, 3));
  Matrix found = average_of(std::move(one), Task::classes), same = random_logits(4, 7, 3);
  EXPECT_TRUE(std::ranges::equal(found.span(), same.span()));
}

Config two_members() {
  Config config = quick_config();
  config.members = 2;
  return config;
}

// Seed 1 of two members has the networks 2 and 3.
TEST(Members, OfARunAreTheNetworksThatSingleRunsTrain) {
  TemporaryFolder folder;
  Config config = two_members();
  config.seeds = 2;
  RunRecord record = run(config, folder / "run").record;
  ASSERT_EQ(record.summary.seeds.size(), 2U);
  size_t best = record.summary.seeds[1].validation > record.summary.seeds[0].validation ? 1 : 0;

  std::vector<NodeId> nodes(400);
  std::iota(nodes.begin(), nodes.end(), 0U);
  RunOptions shared;
  shared.scores = folder / "run/scores.safetensors";
  Matrix sum = Matrix::zeros(400, 2, MemoryTag::other);
  double alone = 0;
  for (size_t network = 0; network < 4; ++network) {
    Config single = quick_config();
    single.seed = network;
    fs::path out = folder / std::to_string(network);
    alone += run(single, out, {}, shared).record.summary.test_mean / 4;
    if (network / 2 == best) add(sum, open_run(out, small_mines(20)).probabilities(nodes));
  }
  Predictor predictor = open_run(folder / "run", small_mines(20));
  EXPECT_EQ(predictor.networks.size(), 2U);
  Matrix found = predictor.probabilities(nodes);
  for (size_t i = 0; i < sum.size(); ++i) ASSERT_NEAR(found.span()[i], sum.span()[i] / 2, 1e-6);
  EXPECT_NEAR(mean_test(record.details.networks), alone, 1e-12);
  EXPECT_EQ(record.summary.final.parameters, predictor.networks[0].model->parameters().count() * 2);

  Problem problem = make_problem(small_mines(20), config);
  Objective objective(problem.data.labels, config.split.metric);
  Matrix logits = predictor.logits(nodes);
  EXPECT_EQ(objective.score(logits, problem.split.validation.span()),
            record.summary.seeds[best].validation);
  EXPECT_EQ(objective.score(logits, problem.split.test.span()), record.summary.seeds[best].test);
}

TEST(Members, AreNumberedOnFromTheirSeed) {
  TemporaryFolder folder;
  Config config = two_members();
  config.seed = 3;
  run(config, folder / "run");
  EXPECT_EQ(load_model(folder / "run/model.safetensors").seed, 6U);
  EXPECT_EQ(load_model(folder / "run/model-2.safetensors").seed, 7U);
}

TEST(Members, OfTheSeedThatIsBestOnValidationAreKept) {
  TemporaryFolder folder;
  bool another_has_the_best_test = false;
  for (size_t first = 0; first < 20 && !another_has_the_best_test; first += 4) {
    Config config = two_members();
    config.seed = first;
    config.seeds = 4;
    fs::path out = folder / std::to_string(first);
    std::vector<SeedResult> seeds = run(config, out, {}, {}, 12).record.summary.seeds;
    auto best = std::ranges::max_element(seeds, {}, &SeedResult::validation);
    another_has_the_best_test = std::ranges::max_element(seeds, {}, &SeedResult::test) != best;
    EXPECT_EQ(load_model(out / "model.safetensors").seed, 2 * best->seed);
  }
  EXPECT_TRUE(another_has_the_best_test) << "otherwise this test shows little";
}

TEST(Members, LeaveAFileForEachNetworkAndNoOther) {
  TemporaryFolder folder;
  run(two_members(), folder / "run");
  for (const char* file : {"network-0.safetensors", "network-1.safetensors", "model-3.safetensors"})
    EXPECT_FALSE(fs::exists(folder / "run" / file)) << file;
  RunOptions anew;
  anew.replace = true;
  run(two_members(), folder / "run", {}, anew);
  EXPECT_TRUE(fs::exists(folder / "run/model-2.safetensors"));
  run(quick_config(), folder / "run", {}, anew);
  EXPECT_FALSE(fs::exists(folder / "run/model-2.safetensors")) << "of the run that was replaced";
  for (const char* file : {"model-2.safetensors", "network-1.safetensors"})
    write_text(folder / "run" / file, "of somebody else");
  run(quick_config(), folder / "run", {}, anew);
  EXPECT_TRUE(fs::exists(folder / "run/model-2.safetensors")) << "a run of one network has none";
  EXPECT_TRUE(fs::exists(folder / "run/network-1.safetensors"));
}

TEST(Members, OfASeedThatCannotBeMultipliedAreRefused) {
  Config config = two_members();
  config.seed = 900'000'000'000'000'000;
  EXPECT_SAYS(check(config), "is too large for 2 members");
}

TEST(Members, OneOfWhichIsGoneIsMissed) {
  TemporaryFolder folder;
  run(two_members(), folder / "run");
  fs::remove(folder / "run/model-2.safetensors");
  EXPECT_SAYS(open_run(folder / "run", small_mines(20)), "model-2.safetensors");
}

TEST(Members, OfARunThatWasStoppedAreItsBestNetworkAlone) {
  TemporaryFolder folder;
  RunHooks hooks;
  size_t epochs = 0;
  hooks.stop = [&] { return ++epochs == 16; };  // in the second network
  EXPECT_FALSE(run(two_members(), folder / "run", hooks).finished);
  EXPECT_EQ(open_run(folder / "run", small_mines(20)).networks.size(), 1U);
}

TEST(Members, WithVariantsAreWhatSingleRunsOfThoseTrain) {
  TemporaryFolder folder;
  Config config("spexphormer-local");
  config.data = folder / "mines.safetensors";
  save_native(small_mines(20), config.data);
  config.final().recipe.epochs = 5;
  config.members = 3;
  for (const char* each : {"width=8", "layers=2", "attention_layers=0", "conv=none"})
    apply_setting(config, std::string("spexphormer-local.") + each);
  config.variants = "attention_layers=1 | conv=sage layers=3";
  RunRecord record = run(config, folder / "run").record;
  Predictor predictor = open_run(folder / "run", small_mines(20));
  ASSERT_EQ(predictor.networks.size(), 3U);
  std::vector<Phase> networks = network_phases(config);
  size_t parameters = 0;
  std::vector<NodeId> nodes(400);
  std::iota(nodes.begin(), nodes.end(), 0U);
  Matrix sum = Matrix::zeros(400, 2, MemoryTag::other);
  for (size_t network = 0; network < 3; ++network) {
    Config single = config;
    single.variants.clear();
    single.members = 1;
    single.seed = network;
    single.phases.back() = networks[network];
    fs::path out = folder / std::to_string(network);
    RunRecord alone = run(single, out).record;
    parameters += alone.summary.final.parameters;
    EXPECT_EQ(record.details.networks[network].test, alone.summary.test_mean) << network;
    EXPECT_EQ(to_toml(predictor.networks[network].saved.phase), to_toml(networks[network]));
    add(sum, open_run(out, small_mines(20)).probabilities(nodes));
  }
  Matrix found = predictor.probabilities(nodes);
  for (size_t i = 0; i < sum.size(); ++i) ASSERT_NEAR(found.span()[i], sum.span()[i] / 3, 1e-6);
  Matrix own = open_run(folder / "run").probabilities(nodes);
  EXPECT_TRUE(std::ranges::equal(own.span(), found.span())) << "its own graphs";
  EXPECT_EQ(record.summary.final.parameters, parameters);
}

}  // namespace
}  // namespace spex
