#include <spex/core/files.h>
#include <spex/core/stopwatch.h>
#include <spex/run/search_space.h>
#include <spex/run/trial.h>
#include <spex/run/tune.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <set>
#include <sstream>

#include "run/support.h"
#include "run/trial_units.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

TuneRequest small_request(const std::filesystem::path& out) {
  TuneRequest request;
  request.out = out;
  request.most_trials = 10;
  request.seeds = 2;
  for (const char* name : {"gcn", "mlp"}) {
    Config config(name);
    config.data = "mines.safetensors";
    config.final().recipe.epochs = 9;
    apply_setting(config, std::string(name) + ".width=8");
    request.defaults.push_back(config);
  }
  return request;
}

Dataset with_other_test_labels(Dataset data) {
  Buffer<int32_t> classes(data.nodes(), MemoryTag::other);
  std::copy(data.labels.classes.begin(), data.labels.classes.end(), classes.begin());
  for (NodeId node : data.splits.front().test) classes[node] = 1 - classes[node];
  data.labels.classes = std::move(classes);
  return data;
}

TEST(Tune, LeavesSettingsThatTrainTakesAndATable) {
  TemporaryFolder folder;
  Dataset data = small_mines(12);
  TuneRequest request = small_request(folder / "out");
  request.defaults[0].members = 2;  // the winner's are averaged, whichever model that is
  request.defaults[1].members = 3;
  std::optional<Tuning> tuned = tune(data, request, {});
  ASSERT_TRUE(tuned.has_value());
  EXPECT_EQ(tuned->trials.size(), 10U);
  EXPECT_EQ(tuned->trials[0].model, "gcn");
  EXPECT_EQ(tuned->trials[1].model, "mlp");
  size_t promoted = 0;
  for (const TuneTrial& trial : tuned->trials) promoted += trial.steps.size() > 1 ? 1 : 0;
  EXPECT_EQ(promoted, 3U) << "the best third of ten";
  ASSERT_GE(tuned->finalists.size(), 4U);
  EXPECT_EQ(tuned->finalists.front(), Finalist{0});
  for (size_t f = 1; f < tuned->finalists.size(); ++f)
    EXPECT_EQ(tuned->finalists[f].size() > 1, f >= 4) << "the default and three, and mixtures";
  EXPECT_EQ(tuned->finals.size(), tuned->finalists.size() * 2) << "two seeds";
  for (const TuneFinal& final : tuned->finals) {
    const Finalist& several = tuned->finalists[final.finalist];
    EXPECT_EQ(final.networks, tuned->trials[several.front()].model == "gcn" ? 2U : 3U);
    for (size_t trial : several)
      EXPECT_EQ(tuned->trials[trial].model, tuned->trials[several.front()].model);
  }
  EXPECT_EQ(tuned->tests.size(), 2U) << "the winner, two seeds";
  EXPECT_TRUE(std::isfinite(tuned->test_mean));
  const Finalist& winner = tuned->finalists[tuned->winner];
  Config best(tuned->trials[winner.front()].model);
  apply_toml(best, read_text(folder / "out/best.toml"), "best.toml");
  best.seeds = 2;
  best.final().recipe.epochs = 9;
  RunResult run = testing_support::run(best, folder / "run", {}, {}, 12);
  EXPECT_NEAR(run.record.summary.test_mean, tuned->test_mean, 1e-9) << "the same trainings";
  EXPECT_EQ(to_json(parse_tuning(read_text(folder / "out/tune.json"), "tune.json")),
            to_json(*tuned));
  EXPECT_FALSE(std::filesystem::exists(folder / "out/finals"));
}

// A default whose networks take settings in turn is judged, kept and tested as it is.
TEST(Tune, KeepsTheVariantsOfTheDefault) {
  TemporaryFolder folder;
  Dataset data = small_mines(12);
  TuneRequest request = small_request(folder / "out");
  request.defaults.pop_back();
  request.defaults[0].members = 3;
  request.defaults[0].variants = "layers=1 | width=16";
  request.most_trials = 1;
  std::optional<Tuning> tuned = tune(data, request, {});
  ASSERT_TRUE(tuned.has_value());
  EXPECT_EQ(tuned->finalists, std::vector<Finalist>{{0}});
  Config best("gcn");
  apply_toml(best, read_text(folder / "out/best.toml"), "best.toml");
  EXPECT_EQ(best.variants, "layers=1 | width=16");
  best.seeds = 2;
  RunResult run = testing_support::run(best, folder / "run", {}, {}, 12);
  EXPECT_NEAR(run.record.summary.test_mean, tuned->test_mean, 1e-9);
}

// Trials that win together leave their settings for networks to take in turn.
TEST(Tune, WhatWinsTogetherIsTrainedTogether) {
  TemporaryFolder folder;
  bool together = false;
  for (size_t seed = 5; seed < 25 && !together; ++seed) {
    TuneRequest request = small_request(folder / std::to_string(seed));
    for (Config& config : request.defaults) {
      config.members = 3;
      config.seed = seed;
    }
    std::optional<Tuning> tuned = tune(small_mines(12), request, {});
    ASSERT_TRUE(tuned.has_value());
    const Finalist& winner = tuned->finalists[tuned->winner];
    together = winner.size() > 1;
    if (!together) continue;
    Config best;
    apply_toml(best, read_text(request.out / "best.toml"), "best.toml");
    EXPECT_EQ(network_phases(best).size(), winner.size());
    best.seeds = 2;
    RunResult run = testing_support::run(best, folder / "run", {}, {}, 12);
    EXPECT_NEAR(run.record.summary.test_mean, tuned->test_mean, 1e-9) << best.variants;
  }
  EXPECT_TRUE(together) << "otherwise this test shows nothing";
}

TEST(Tune, TestLabelsChooseNothing) {
  TemporaryFolder folder;
  Dataset data = small_mines(12);
  std::optional<Tuning> one = tune(data, small_request(folder / "one"), {});
  std::optional<Tuning> other =
      tune(with_other_test_labels(data), small_request(folder / "other"), {});
  ASSERT_TRUE(one && other);
  EXPECT_EQ(read_text(folder / "one/best.toml"), read_text(folder / "other/best.toml"));
  for (size_t i = 0; i < one->finals.size(); ++i)
    EXPECT_EQ(one->finals[i].validation, other->finals[i].validation);
  EXPECT_NE(one->test_mean, other->test_mean) << "the labels were looked at in the end";
}

TEST(Tune, StoppedAndContinuedEndsTheSame) {
  TemporaryFolder folder;
  Dataset data = small_mines(12);
  std::optional<Tuning> whole = tune(data, small_request(folder / "whole"), {});
  ASSERT_TRUE(whole.has_value());
  std::optional<Tuning> other;
  size_t calls = 0;
  for (; !other && calls < 100; ++calls) {
    TuneHooks hooks;
    auto left = std::make_shared<std::atomic<int>>(60);
    hooks.stop = [left] { return --*left <= 0; };
    other = tune(data, small_request(folder / "stopped"), hooks);
  }
  ASSERT_TRUE(other.has_value());
  EXPECT_GT(calls, 2U);
  EXPECT_EQ(read_text(folder / "whole/best.toml"), read_text(folder / "stopped/best.toml"));
  EXPECT_EQ(whole->winner, other->winner);
  ASSERT_EQ(whole->trials.size(), other->trials.size());
  for (size_t i = 0; i < whole->trials.size(); ++i) {
    EXPECT_EQ(whole->trials[i].settings, other->trials[i].settings);
    ASSERT_EQ(whole->trials[i].steps.size(), other->trials[i].steps.size());
    for (size_t s = 0; s < whole->trials[i].steps.size(); ++s)
      EXPECT_EQ(whole->trials[i].steps[s].validation, other->trials[i].steps[s].validation);
  }
  TuneRequest changed = small_request(folder / "whole");
  changed.defaults.pop_back();
  EXPECT_SAYS(tune(data, changed, {}), "another --out");
  changed = small_request(folder / "whole");
  EXPECT_SAYS(tune(with_other_test_labels(data), changed, {}), "another --out");
  changed.splits = {1};
  data.splits.push_back(data.splits.front());
  EXPECT_SAYS(tune(data, changed, {}), "another --out");
}

TEST(Tune, AStepOfOtherSettingsIsNotTakenOver) {
  TemporaryFolder folder;
  Dataset data = small_mines(12);
  std::optional<Tuning> whole = tune(data, small_request(folder / "out"), {});
  ASSERT_TRUE(whole.has_value());
  Tuning edited = *whole;
  edited.finished = false;
  edited.finals.clear();
  edited.trials[2].settings.front() += "0";
  for (TuneStep& step : edited.trials[2].steps) step.validation = 2;
  write_text(folder / "out/tune.json", to_json(edited));
  std::optional<Tuning> again = tune(data, small_request(folder / "out"), {});
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->trials[2].settings, whole->trials[2].settings);
  EXPECT_EQ(again->trials[2].steps.at(0).validation, whole->trials[2].steps.at(0).validation);
}

TEST(Tune, SearchAndFinalsHaveSeedsOfTheirOwn) {
  TemporaryFolder folder;
  std::set<std::string> searched, decided;
  auto seeds_in = [&](std::set<std::string>& seeds, const char* name) {
    if (!std::filesystem::exists(folder / "out" / name)) return;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "out" / name)) {
      if (entry.path().extension() != ".safetensors") continue;  // being written
      std::string stem = entry.path().stem();
      seeds.insert(stem.substr(stem.rfind('-') + 1));
    }
  };
  TuneHooks hooks;
  hooks.on_progress = [&](const TuneProgress&) {
    seeds_in(searched, "trials");
    seeds_in(decided, "finals");
  };
  std::optional<Tuning> tuned = tune(small_mines(12), small_request(folder / "out"), hooks);
  ASSERT_TRUE(tuned.has_value());
  EXPECT_EQ(decided, (std::set<std::string>{"0", "1"})) << "the winner's, in the end";
  EXPECT_FALSE(searched.empty());
  for (const std::string& seed : searched) EXPECT_FALSE(decided.contains(seed)) << seed;
  for (const TuneTrial& trial : tuned->trials)
    for (const TuneStep& step : trial.steps) EXPECT_LE(step.validation, 1.0) << "a mean";
}

TEST(Tune, KeepsToItsBudget) {
  TemporaryFolder folder;
  TuneRequest request = small_request(folder / "out");
  request.most_trials = 1'000'000;
  request.budget_seconds = 1;
  for (Config& config : request.defaults) config.final().recipe.epochs = 100'000;
  Stopwatch watch;
  std::optional<Tuning> tuned = tune(small_mines(12), request, {});
  EXPECT_LT(watch.seconds(), 4.0);
  ASSERT_TRUE(tuned.has_value());
  EXPECT_EQ(tuned->winner, 0U) << "nothing is known that could beat the default";
  EXPECT_TRUE(std::isnan(tuned->test_mean));
  EXPECT_TRUE(std::filesystem::exists(folder / "out/best.toml"));
}

TEST(Trials, ATrainingThatPausedReachesWhatAWholeOneReaches) {
  Config config = quick_config();
  Trials trials(small_mines(12));
  std::shared_ptr<const Problem> problem = trials.problem(config);
  EXPECT_TRUE(problem->split.test.empty());
  EXPECT_EQ(problem.get(), trials.problem(config).get()) << "the scores are shared";
  Config wider = config;
  final_options(wider).width = 16;
  EXPECT_EQ(problem.get(), trials.problem(wider).get()) << "whatever draws by them";
  Config other = config;
  apply_setting(other, "estimator.width=3");
  EXPECT_NE(problem.get(), trials.problem(other).get()) << "other scores";
  other = config;
  other.seed = 1;
  EXPECT_NE(problem.get(), trials.problem(other).get()) << "other scores";
  other = config;
  other.expander.degree = 4;
  EXPECT_LT(trials.problem(other)->attention.edges(), problem->attention.edges());
  std::shared_ptr<const Problem> fold = trials.problem(config, {}, {1, Division::none});
  EXPECT_FALSE(std::ranges::equal(fold->split.validation, problem->split.validation));
  EXPECT_TRUE(fold->split.test.empty());
  other = config;
  other.split.ratio = "50/25/25";
  EXPECT_NE(trials.problem(other)->split.train.size(), problem->split.train.size());
  TrainState whole, paused;
  ASSERT_TRUE(continue_trial(*problem, config, 3, 6, whole));
  ASSERT_TRUE(continue_trial(*problem, config, 3, 2, paused));
  EXPECT_EQ(paused.next_epoch, 2U);
  ASSERT_TRUE(continue_trial(*problem, config, 3, 6, paused));
  EXPECT_EQ(paused.next_epoch, 6U);
  EXPECT_EQ(whole.best_validation, paused.best_validation);
  EXPECT_EQ(whole.model, paused.model);
}

TEST(Trials, InBatchesTheOtherHalfIsEvaluatedInTheEnd) {
  Config config("mlp");
  config.final().recipe.epochs = 6;
  config.final().recipe.batch_size = 20;
  Trials trials(small_mines(12));
  for (auto judges : {Division::none, Division::first_half}) {
    std::shared_ptr<const Problem> problem = trials.problem(config, {}, {0, judges});
    TrainState state;
    ASSERT_TRUE(continue_trial(*problem, config, 3, 6, state));
    EXPECT_EQ(std::isnan(state.best_test), judges == Division::none);
  }
}

TEST(Tune, SettingsThatCannotBeTrainedDoNotClaimTheFolder) {
  TemporaryFolder folder;
  TuneRequest request = small_request(folder / "out");
  request.defaults.front().split.index = 100;
  EXPECT_SAYS(tune(small_mines(12), request, {}), "split");
  EXPECT_FALSE(std::filesystem::exists(folder / "out/tune.json"));
}

size_t files_in(const std::filesystem::path& folder) {
  auto all = std::filesystem::directory_iterator(folder);
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

// Tunes until a stage shows itself.
void tune_until(const std::string& stage, const Dataset& data, const TuneRequest& request) {
  TuneHooks hooks;
  auto stopping = std::make_shared<std::atomic<bool>>(false);
  hooks.on_progress = [=](const TuneProgress& p) { *stopping = *stopping || p.stage == stage; };
  hooks.stop = [=] { return stopping->load(); };
  EXPECT_FALSE(tune(data, request, hooks).has_value());
}

// Finals that are done outlive calls that are stopped, and are not trained again.
TEST(Tune, StoppedTwiceKeepsItsFinals) {
  TemporaryFolder folder;
  Dataset data = small_mines(12);
  TuneRequest request = small_request(folder / "out");
  tune_until("test", data, request);
  auto finals = [&] {
    return parse_tuning(read_text(folder / "out/tune.json"), "tune.json").finals;
  };
  std::vector<TuneFinal> before = finals();
  EXPECT_GE(files_in(folder / "out/finals"), 4U * 2U * 2U);
  TuneHooks at_once;
  at_once.stop = [] { return true; };
  EXPECT_FALSE(tune(data, request, at_once).has_value());
  EXPECT_GE(files_in(folder / "out/finals"), 4U * 2U * 2U);
  request.spent_seconds = 0.8 * request.budget_seconds;  // no time for finals is left
  std::optional<Tuning> tuned = tune(data, request, {});
  ASSERT_TRUE(tuned.has_value());
  ASSERT_EQ(tuned->finals.size(), before.size());
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(tuned->finals[i].finalist, before[i].finalist);
    EXPECT_EQ(tuned->finals[i].validation, before[i].validation);
  }
}

// Where time ends within the finals, the rounds in which all were trained decide, and the winner is
// tested as often as the rest allows.
TEST(Tune, FinalsThatTimeCutCompareWhatTheyHave) {
  TemporaryFolder folder;
  Dataset data = small_mines(12);
  TuneRequest request = small_request(folder / "out");
  for (Config& config : request.defaults) config.members = 2;
  tune_until("test", data, request);
  size_t removed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "out/finals"))
    if (entry.path().filename().string().starts_with("0-") &&
        entry.path().stem().string().ends_with("-3"))  // of seed 1 the second network
      removed += std::filesystem::remove(entry.path()) ? 1 : 0;
  EXPECT_EQ(removed, 2U) << "one for each half";
  request.spent_seconds = 0.8 * request.budget_seconds;  // that of the finals
  std::optional<Tuning> cut = tune(data, request, {});
  ASSERT_TRUE(cut.has_value());
  size_t singles = 0;
  for (const TuneFinal& final : cut->finals) {
    singles += cut->finalists[final.finalist].size() > 1 ? 0 : 1;
    EXPECT_EQ(final.networks, 2U);
    EXPECT_EQ(final.seed, 0U) << "the other round has one network of each";
  }
  EXPECT_EQ(singles, 4U);
  EXPECT_EQ(cut->tests.size(), 2U);
}

TEST(Trials, HalvesOfTheValidationNodesJudgeEachOther) {
  Trials trials(small_mines(12));
  Config config = Config("mlp");
  std::shared_ptr<const Problem> whole = trials.problem(config),
                                 second = trials.problem(config, {}, {0, Division::second_half}),
                                 first = trials.problem(config, {}, {0, Division::first_half});
  EXPECT_TRUE(std::ranges::equal(second->split.train, whole->split.train));
  EXPECT_TRUE(std::ranges::equal(first->split.train, whole->split.train));
  std::set<NodeId> nodes(second->split.validation.begin(), second->split.validation.end());
  for (NodeId node : second->split.test) EXPECT_TRUE(nodes.insert(node).second);
  EXPECT_TRUE(std::ranges::equal(nodes, whole->split.validation));
  EXPECT_LE(second->split.validation.size() - second->split.test.size(), 1U);
  EXPECT_TRUE(std::ranges::equal(first->split.test, second->split.validation));
  EXPECT_TRUE(std::ranges::equal(first->split.validation, second->split.test));
}

// One training leaves what two would, each of which ends by its own half's patience.
TEST(TrialUnits, OneTrainingServesBothHalves) {
  TemporaryFolder folder;
  Dataset data = small_mines(20);
  auto never = [] { return false; };
  for (const char* setting :
       {"gcn.patience=0", "gcn.patience=3", "gcn.patience=2 gcn.evaluate_every=3",
        "gcn.batch_size=50", "gcn.class_weights=validation", "mlp.batch_size=50"}) {
    std::istringstream words(setting);
    Config config(std::string(setting).substr(0, 3));
    config.final().recipe.epochs = 30;
    for (std::string word; words >> word;) apply_setting(config, word);
    auto unit_for = [&](Division::Judges judges, const char* name, const char* other) {
      TrialUnit unit;
      unit.config = config;
      unit.epochs = 30;
      unit.division = {0, judges};
      unit.leaves = TrialUnit::logits;
      unit.file = folder / name;
      if (*other) unit.other_file = folder / other;
      return unit;
    };
    TrialUnits together(data), apart(data);
    std::vector<TrialUnit> one = {unit_for(Division::second_half, "second", "first")},
                           two = {unit_for(Division::second_half, "own-second", ""),
                                  unit_for(Division::first_half, "own-first", "")};
    together.train(one, never, [] {});
    // Shares are of the half that chooses; rows in batches are evaluated where they choose.
    bool alike = std::string(setting).find("class") == std::string::npos && config.model != "mlp";
    EXPECT_EQ(std::filesystem::exists(folder / "first"), alike) << setting;
    apart.train(two, never, [] {});
    EXPECT_EQ(read_text(folder / "second"), read_text(folder / "own-second")) << setting;
    if (alike) {
      EXPECT_EQ(read_text(folder / "first"), read_text(folder / "own-first")) << setting;
    }
    for (const char* name : {"first", "second", "own-first", "own-second"})
      std::filesystem::remove(folder / name);
  }
}

TEST(Trials, ValidationNodesWhoseHalvesGiveNoMetricStayWhole) {
  Dataset data = small_mines(12);
  Split& split = data.splits.front();
  std::vector<NodeId> one_mine;
  bool mine = false;
  for (NodeId node : split.validation) {
    bool here = data.labels.classes[node] == 1;
    if (!here || !mine) one_mine.push_back(node);
    mine = mine || here;
  }
  Buffer<NodeId> kept(one_mine.size(), MemoryTag::other);
  std::copy(one_mine.begin(), one_mine.end(), kept.begin());
  split.validation = std::move(kept);
  std::shared_ptr<const Problem> problem =
      Trials(std::move(data)).problem(Config("mlp"), {}, {0, Division::second_half});
  EXPECT_EQ(problem->split.validation.size(), one_mine.size());
  EXPECT_TRUE(problem->split.test.empty());
}

// A network that failed is known to have failed when a search goes on.
TEST(TrialUnits, JudgeTheAverageAndWhatFailedNot) {
  TemporaryFolder folder;
  Dataset data = small_mines(30);
  TrialUnits units(data);
  std::vector<TrialUnit> two(2);
  for (size_t seed = 0; seed < 2; ++seed) {
    TrialUnit& unit = two[seed];
    unit.config = Config("mlp");
    unit.seed = seed;
    unit.epochs = unit.config.final().recipe.epochs = 4;
    unit.division = {0, Division::second_half};
    unit.leaves = TrialUnit::logits;
    unit.file = folder / std::to_string(seed);
  }
  auto never = [] { return false; };
  units.train(two, never, [] {});
  Judged judged = units.judge(two, 200);
  EXPECT_NE(judged.score, units.judge({two.data(), 1}).score);
  ASSERT_EQ(judged.resampled.size(), 200U);
  double mean = 0, deviation = 0;
  for (double each : judged.resampled) mean += each / 200;
  for (double each : judged.resampled) deviation += std::pow(each - mean, 2) / 199;
  EXPECT_NEAR(mean, judged.score, 0.05);
  EXPECT_GT(std::sqrt(deviation), 0.01) << "a few nodes";
  EXPECT_LT(std::sqrt(deviation), 0.2);

  std::filesystem::remove(two[1].file);
  two[1].config.final().recipe.learning_rate = 1e30;
  for (TrialUnit& unit : two) unit.done = false;
  units.train(two, never, [] {});
  EXPECT_TRUE(two[1].done);
  EXPECT_TRUE(std::isnan(units.judge(two).score));
  EXPECT_TRUE(std::isfinite(units.judge({two.data(), 1}).score));
  two[1].done = false;
  units.train(
      two, [] { return true; }, [] {});
  EXPECT_TRUE(two[1].done) << "it left a mark";
}

TEST(SearchSpace, EveryModelHasOneWhoseDrawsCanBeTrained) {
  for (const ModelInfo& info : models()) {
    Config config(info.name);
    SearchSpace space = search_space(config);
    EXPECT_GE(space.size(), 3U) << info.name;
    EXPECT_EQ(to_toml(with_values(config, space, values_of(space, config))), to_toml(config));
    std::set<Assignment> seen;
    for (size_t trial = 0; trial < 20; ++trial) {
      Assignment drawn = draw_values(config, space, {}, 0, trial);
      EXPECT_NO_THROW(check(with_values(config, space, drawn))) << info.name;
      EXPECT_EQ(drawn, draw_values(config, space, {}, 0, trial));
      seen.insert(drawn);
    }
    EXPECT_GT(seen.size(), 10U) << info.name;
    Assignment start = values_of(space, config),
               changed = change_values(config, space, start, {start}, 0, 1);
    EXPECT_NE(changed, start);
    size_t differences = 0;
    for (size_t i = 0; i < start.size(); ++i) differences += start[i] != changed[i] ? 1 : 0;
    EXPECT_LE(differences, 3U);
  }
}

TEST(SearchSpace, ClassesAreWeighedWhereThereAreSome) {
  auto weighs = [](const SearchSpace& space) {
    return std::ranges::any_of(space, [](const Choice& c) { return c.key == "gcn.class_weights"; });
  };
  EXPECT_TRUE(weighs(search_space(Config("gcn"))));
  EXPECT_FALSE(weighs(search_space(Config("gcn"), false)));
}

// One in six draws has attention in more layers than there are, or neither residual nor
// convolution: another is drawn, and the default is not what is left.
TEST(SearchSpace, WhatCannotBeTrainedIsDrawnAgain) {
  Config config("spexphormer-local");
  SearchSpace space = search_space(config);
  for (size_t trial = 0; trial < 40; ++trial)
    EXPECT_NE(draw_values(config, space, {}, 0, trial), values_of(space, config)) << trial;
}

// Three heads do not divide 64: idle or not, they must fit the width that is drawn.
TEST(SearchSpace, IdleSettingsFitTheOthers) {
  Config config("spexphormer-local");
  for (const char* setting : {"attention_layers=0", "width=96", "heads=3"})
    apply_setting(config, fmt::format("spexphormer-local.{}", setting));
  SearchSpace space = search_space(config);
  for (size_t trial = 0; trial < 40; ++trial)
    EXPECT_NO_THROW(check(with_values(config, space, draw_values(config, space, {}, 0, trial))));
}

TEST(SearchSpace, NothingIsTriedTwice) {
  Config config("spexphormer-local");
  apply_setting(config, "spexphormer-local.attention_layers=0");
  SearchSpace space = search_space(config);
  Assignment start = values_of(space, config);
  Tried tried = {start};
  for (size_t trial = 1; trial <= 60; ++trial) {
    Assignment changed = change_values(config, space, start, tried, 0, trial);
    EXPECT_TRUE(tried.insert(changed).second) << trial;
    if (with_values(config, space, changed).final().model->idle().size() < 2) continue;
    for (size_t i = 0; i < space.size(); ++i) {  // the two that only attention has
      if (space[i].key.ends_with(".heads") || space[i].key.ends_with(".degree")) {
        EXPECT_EQ(changed[i], start[i]);
      }
    }
  }
}

}  // namespace
}  // namespace spex
