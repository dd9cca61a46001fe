#include <spex/core/files.h>
#include <spex/core/stopwatch.h>
#include <spex/run/tune.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <set>

#include "run/support.h"

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
    size_t own = tuned->trials[several.front()].model == "gcn" ? 2 : 3;
    EXPECT_EQ(final.networks, several.size() > 1 ? 2 * own : own);
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
    EXPECT_EQ(best.members, 6U);
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
  EXPECT_EQ(whole->finalists, other->finalists);
  EXPECT_EQ(whole->finalists.size(), 4U) << "who asks for one network gets no mixtures";
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
    bool several = cut->finalists[final.finalist].size() > 1;
    singles += several ? 0 : 1;
    EXPECT_EQ(final.networks, several ? 4U : 2U);
    EXPECT_EQ(final.seed, 0U) << "the other round has one network of each";
  }
  EXPECT_EQ(singles, 4U);
  EXPECT_EQ(cut->tests.size(), 2U);
}

}  // namespace
}  // namespace spex
