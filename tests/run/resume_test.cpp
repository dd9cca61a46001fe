// A run that was stopped goes on as if it had not been; a folder belongs to one run.
#include <spex/core/threads.h>
#include <spex/run/run.h>
#include <spex/run/run_lock.h>

#include <memory>

#include "run/support.h"
#include "same_run.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

RunHooks stop_after(size_t epochs) {
  RunHooks hooks;
  hooks.stop = [left = std::make_shared<size_t>(epochs)] { return --*left == 0; };
  return hooks;
}

RunOptions resuming() {
  RunOptions options;
  options.resume = true;
  return options;
}

class SameFiles : public testing::TestWithParam<const char*> {
 protected:
  static Config config() {
    Config config = quick_config();
    config.seeds = 2;
    estimator_options(config).estimators = 2;
    std::string settings = GetParam();
    for (size_t begin = 0; begin < settings.size();) {
      size_t end = std::min(settings.find(' ', begin), settings.size());
      apply_setting(config, settings.substr(begin, end - begin));
      begin = end + 1;
    }
    return config;
  }
};

TEST_P(SameFiles, SameSeedAndThreadsGiveIdenticalFiles) {
  TemporaryFolder folder;
  set_threads(2);
  run(config(), folder / "one");
  run(config(), folder / "other");
  set_threads(0);
  expect_same_run(folder / "one", folder / "other");
}

TEST_P(SameFiles, StoppedAfterAnyEpochAndResumedGivesIdenticalFiles) {
  TemporaryFolder folder;
  run(config(), folder / "whole");
  for (size_t epochs : {1, 5, 6, 7, 9, 14, 18, 19, 23}) {
    SCOPED_TRACE(epochs);
    auto out = folder / ("stopped" + std::to_string(epochs));
    if (run(config(), out, stop_after(epochs)).finished) continue;  // fewer epochs in all
    EXPECT_TRUE(run(config(), out, {}, resuming()).finished);
    expect_same_run(folder / "whole", out);
  }
}

TEST_P(SameFiles, StoppedAfterEveryEpochAndResumedGivesIdenticalFiles) {
  TemporaryFolder folder;
  run(config(), folder / "whole");
  bool finished = run(config(), folder / "steps", stop_after(1)).finished;
  for (size_t step = 0; !finished && step < 40; ++step)
    finished = run(config(), folder / "steps", stop_after(1), resuming()).finished;
  ASSERT_TRUE(finished);
  expect_same_run(folder / "whole", folder / "steps");
}

INSTANTIATE_TEST_SUITE_P(
    Run, SameFiles,
    testing::Values(
        "", "spexphormer.batch_size=64", "members=2", "model=gcn gcn.epochs=6 members=3",
        "model=gcn gcn.epochs=6 members=3 variants=layers=1|norm=batch",
        "model=exphormer exphormer.epochs=6", "model=gcn gcn.epochs=6",
        "model=gcn gcn.epochs=6 gcn.batch_size=150", "model=mlp mlp.epochs=6 mlp.batch_size=64",
        "model=polynormer polynormer.epochs=6 polynormer.local_epochs=3 "
        "polynormer.width=16 polynormer.heads=2",
        "model=nodeformer nodeformer.epochs=5 nodeformer.draws=2 nodeformer.batch_size=150",
        "model=sign sign.epochs=6 sign.batch_size=64",
        "model=gat-nsampler gat-nsampler.epochs=6 gat-nsampler.batch_size=64",
        "model=graphsaint graphsaint.epochs=6 graphsaint.batch_size=30",
        "model=goat goat.epochs=4 goat.width=16 goat.batch_size=64",
        "spexphormer.batch_size=100 spexphormer.evaluate_every=4 "
        "spexphormer.resample_every=3 spexphormer.log_scores=true"));

TEST(Resume, WithAnotherConfigurationNamesTheKey) {
  TemporaryFolder folder;
  run(quick_config(), folder / "run", stop_after(3));
  Config other = quick_config();
  final_options(other).width = 16;
  EXPECT_SAYS(run(other, folder / "run", {}, resuming()),
              "belongs to another configuration: spexphormer.width is 8 there and 16 here");
  other = quick_config();
  other.data = "other.safetensors";
  EXPECT_SAYS(run(other, folder / "run", {}, resuming()), "data is \"mines.safetensors\" there");
}

TEST(Resume, OnAnotherGraphIsRefused) {
  TemporaryFolder folder;
  run(quick_config(), folder / "run", stop_after(3));
  EXPECT_SAYS(run(quick_config(), folder / "run", {}, resuming(), 21), "belongs to other data");
}

TEST(Resume, NothingIsRefusedAndMakesNoFolder) {
  TemporaryFolder folder;
  EXPECT_SAYS(run(quick_config(), folder / "none", {}, resuming()), "holds no run to resume");
  EXPECT_FALSE(std::filesystem::exists(folder / "none"));
}

TEST(Resume, AFinishedRunTrainsNothingAgain) {
  TemporaryFolder folder;
  RunRecord record = run(quick_config(), folder / "run").record;
  RunHooks hooks;
  hooks.on_epoch = [](const EpochRecord&, size_t) { FAIL() << "an epoch was trained"; };
  RunResult again = run(quick_config(), folder / "run", hooks, resuming());
  EXPECT_TRUE(again.finished);
  EXPECT_EQ(to_json(again.record.summary), to_json(record.summary));
}

TEST(Resume, TakesARunThatWasKilledBeforeItsGraphWasWritten) {
  TemporaryFolder folder;
  run(quick_config(), folder / "whole");
  run(quick_config(), folder / "run", stop_after(1));
  for (const char* file : {"attention.safetensors", "checkpoint.safetensors", "metrics.csv"})
    std::filesystem::remove(folder / "run" / file);
  EXPECT_TRUE(run(quick_config(), folder / "run", {}, resuming()).finished);
  expect_same_run(folder / "whole", folder / "run");
}

TEST(RunLock, IsHeldByOneAtATime) {
  TemporaryFolder folder;
  {
    RunLock lock(folder / "lock");
    EXPECT_SAYS(RunLock(folder / "lock"), "another spex is working on " + folder.path.string());
  }
  RunLock again(folder / "lock");
}

}  // namespace
}  // namespace spex
