// The numbers a run reports, computed again from its files by other means: what stands in
// predictions.csv against the labels, and what stands in metrics.csv.
#include <spex/core/files.h>
#include <spex/core/text.h>
#include <spex/run/model_file.h>
#include <spex/run/phases.h>
#include <spex/run/predict.h>

#include <cmath>
#include <sstream>

#include "run/run_summary.h"
#include "run/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

struct Predicted {
  std::string prediction;
  double positive = 0;  // p_1
};

std::map<NodeId, Predicted> read_predictions(const std::filesystem::path& file) {
  std::map<NodeId, Predicted> rows;
  std::istringstream lines(read_text(file));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string node, prediction, negative, positive;
    std::getline(fields, node, ',');
    std::getline(fields, prediction, ',');
    std::getline(fields, negative, ',');
    std::getline(fields, positive, ',');
    rows[static_cast<NodeId>(std::stoul(node))] = {prediction, std::stod(positive)};
  }
  return rows;
}

double area(const std::map<NodeId, Predicted>& rows, const Dataset& data,
            const SharedArray<NodeId>& nodes) {
  double wins = 0, pairs = 0;
  for (NodeId a : nodes)
    for (NodeId b : nodes) {
      if (data.labels.classes[a] != 1 || data.labels.classes[b] != 0) continue;
      double difference = rows.at(a).positive - rows.at(b).positive;
      wins += difference > 0 ? 1.0 : difference == 0 ? 0.5 : 0.0;
      pairs += 1;
    }
  return wins / pairs;
}

double share_right(const std::map<NodeId, Predicted>& rows, const Dataset& data,
                   const SharedArray<NodeId>& nodes) {
  std::vector<std::string> names = meaning_of(data).class_names;
  double right = 0;
  for (NodeId node : nodes)
    right += rows.at(node).prediction == names[static_cast<size_t>(data.labels.classes[node])];
  return right / static_cast<double>(nodes.size());
}

// The first epoch of a seed that is best on validation, by the rows of metrics.csv.
const EpochRecord& best_of(const std::vector<EpochRecord>& rows, const std::string& phase,
                           size_t seed) {
  const EpochRecord* best = nullptr;
  for (const EpochRecord& row : rows)
    if (row.phase == phase && row.seed == seed && !std::isnan(row.validation) &&
        (!best || row.validation > best->validation ||
         (row.validation == best->validation && row.temperature < best->temperature)))
      best = &row;
  return *best;
}

class Results : public testing::TestWithParam<const char*> {
 protected:
  // Large steps: validation goes up and down, so that the best epoch is seldom the last.
  static Config config() {
    Config config = quick_config();
    config.seeds = 3;
    config.phase("estimator").recipe.epochs = 12;
    apply_setting(config, "estimator.tries=2");
    apply_setting(config, "estimator.gamma=0.7");
    config.final().recipe.epochs = 13;
    config.final().recipe.learning_rate = 0.05;
    apply_setting(config, "spexphormer.resample_every=3");
    std::istringstream settings(GetParam());
    for (std::string setting; settings >> setting;) apply_setting(config, setting);
    return config;
  }

  TemporaryFolder folder_;
};

TEST_P(Results, OfTheSummaryAreThoseOfThePredictionsAndOfTheEpochs) {
  Config settings = config();
  Problem problem = make_problem(small_mines(20), settings);
  RunSummary summary = run(settings, folder_ / "run").record.summary;
  auto rows = parse_csv(read_text(folder_ / "run/metrics.csv"), "metrics.csv");
  ASSERT_EQ(summary.seeds.size(), 3U);
  size_t chosen = 0;
  double mean = 0, squares = 0;
  bool best_is_not_last = false;
  for (size_t i = 0; i < 3; ++i) {
    const EpochRecord& best = best_of(rows, "spexphormer", i);
    EXPECT_EQ(summary.seeds[i].seed, i);
    EXPECT_EQ(summary.seeds[i].best_epoch, best.epoch);
    EXPECT_EQ(summary.seeds[i].validation, best.validation);
    EXPECT_EQ(summary.seeds[i].test, best.test);
    best_is_not_last |= best.epoch + 1 < settings.final().recipe.epochs;
    if (summary.seeds[i].validation > summary.seeds[chosen].validation) chosen = i;
    mean += best.test / 3;
  }
  EXPECT_TRUE(best_is_not_last) << "otherwise this test shows little";
  for (const SeedResult& seed : summary.seeds) squares += std::pow(seed.test - mean, 2);
  EXPECT_NEAR(summary.test_mean, mean, 1e-12);
  EXPECT_NEAR(summary.test_std, std::sqrt(squares / 2), 1e-12);

  SavedModel model = load_model(folder_ / "run/model.safetensors");
  EXPECT_EQ(model.seed, chosen);
  EXPECT_EQ(model.best_epoch, summary.seeds[chosen].best_epoch);
  auto predictions = read_predictions(folder_ / "run/predictions.csv");
  bool accuracy = summary.metric == "accuracy";
  double again = accuracy ? share_right(predictions, problem.data, problem.split.test)
                          : area(predictions, problem.data, problem.split.test);
  EXPECT_NEAR(again, summary.seeds[chosen].test, 1e-3);  // six digits make a few ties
}

// At the temperature of its best epoch, and that alone.
TEST_P(Results, OfTheEstimatorAreThoseOfItsSavedState) {
  Config settings = config();
  Problem problem = make_problem(small_mines(20), settings);
  RunSummary summary = run(settings, folder_ / "run").record.summary;
  auto rows = parse_csv(read_text(folder_ / "run/metrics.csv"), "metrics.csv");
  SavedModel saved = load_model(folder_ / "run/estimator.safetensors");
  const EpochRecord& best = best_of(rows, "estimator", saved.seed);
  EXPECT_EQ(summary.estimator_test, best.test);
  EXPECT_EQ(saved.best_epoch, best.epoch);
  EXPECT_FLOAT_EQ(saved.temperature, static_cast<float>(best.temperature));
  EXPECT_FLOAT_EQ(saved.temperature,
                  static_cast<float>(saved.phase.model->temperature(best.epoch)));
  std::unique_ptr<Model> model = saved.make();
  Objective objective(problem.data.labels, settings.split.metric);
  std::vector<NodeId> all(problem.data.nodes());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<NodeId>(i);
  auto validation = [&](float temperature) {
    return objective.score(
        predict_logits(saved.phase, *model, problem, saved.seed, best.epoch, temperature, all, 0),
        problem.split.validation.span());
  };
  EXPECT_NEAR(validation(saved.temperature), best.validation, 1e-9);
}

EpochRecord row_of(const std::string& phase, size_t seed, size_t epoch, double temperature,
                   double validation, double test) {
  EpochRecord row;
  row.phase = phase;
  row.seed = seed;
  row.epoch = epoch;
  row.temperature = temperature;
  row.validation = validation;
  row.test = test;
  return row;
}

TEST(Summary, OfTiesReportsTheFirstOfTheSharpestEpochs) {
  Config config = quick_config();
  Problem problem = make_problem(small_mines(8), config);
  std::vector<EpochRecord> rows = {row_of("spexphormer", 0, 0, 1.0, 0.7, 0.1),
                                   row_of("spexphormer", 0, 1, 0.5, 0.7, 0.2),
                                   row_of("spexphormer", 0, 2, 0.5, 0.7, 0.3)};
  EXPECT_EQ(summarise_run(problem, config, rows, network_results(config, rows)).test_mean, 0.2);
}

// Polynormer looks for its best epoch anew once its global layers are there.
TEST(Summary, IsOfTheSavedModelWhereTheSearchForTheBestBeganAnew) {
  TemporaryFolder folder;
  Config config("polynormer");
  config.final().recipe.epochs = 12;
  config.seeds = 2;
  for (const char* setting : {"width=8", "heads=1", "local_epochs=11", "learning_rate=0.03"})
    apply_setting(config, std::string("polynormer.") + setting);
  RunSummary summary = run(config, folder / "run").record.summary;
  for (const SeedResult& seed : summary.seeds) EXPECT_EQ(seed.best_epoch, 11U);
  SavedModel saved = load_model(folder / "run/model.safetensors");
  EXPECT_EQ(saved.validation, summary.seeds[saved.seed].validation);
}

// Of the two tries, whatever their validation metric over all edges.
TEST_P(Results, OfTheKeptEstimatorAreTheBestOnSamplesDrawnByItsScores) {
  Config settings = config();
  tell_scorers(settings);
  Problem problem = make_problem(small_mines(20), settings);
  run(settings, folder_ / "run");
  const Phase& phase = settings.phases.front();
  std::vector<double> merits;
  for (size_t seed : {0, 1}) {
    std::unique_ptr<Model> model = phase.model->make(shape_of(problem, settings), seed);
    TrainState state;
    train_phase(phase, *model, problem, settings, seed, state, {});
    merits.push_back(
        validation_of_samples(*model, phase, problem, settings, state.best_temperature));
  }
  EXPECT_EQ(load_model(folder_ / "run/estimator.safetensors").seed,
            merits[1] > merits[0] ? 1U : 0U);
}

TEST(ValidationOfSamples, OfAllNeighboursIsThatOfTheWholeGraph) {
  for (const char* degrees : {"[1000,1000]", "[1,1]"}) {
    Config config = quick_config();
    apply_setting(config, std::string("spexphormer.degrees=") + degrees);
    tell_scorers(config);
    Problem problem = make_problem(small_mines(20), config);
    const Phase& phase = config.phases.front();
    std::unique_ptr<Model> model = phase.model->make(shape_of(problem, config), 0);
    TrainState state;
    ASSERT_TRUE(train_phase(phase, *model, problem, config, 0, state, {}));
    double sampled = validation_of_samples(*model, phase, problem, config, state.best_temperature);
    if (degrees == std::string("[1,1]"))
      EXPECT_LT(sampled, state.best_validation - 0.01);
    else
      EXPECT_NEAR(sampled, state.best_validation, 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(WholeAndInBatches, Results,
                         testing::Values("", "spexphormer.batch_size=100",
                                         "spexphormer.batch_size=60 spexphormer.log_scores=true",
                                         "split.metric=accuracy spexphormer.batch_size=150",
                                         "split.metric=accuracy"));

}  // namespace
}  // namespace spex
