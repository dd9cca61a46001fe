#include <spex/data/generators.h>
#include <spex/data/native.h>
#include <sys/mount.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "cli/program.h"
#include "same_run.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT
namespace fs = std::filesystem;

class RunDirectory : public testing::Test {
 protected:
  void SetUp() override {
    MinesweeperOptions options;
    options.rows = options.columns = 30;
    save_native(generate_minesweeper(options), data_);
  }

  std::vector<std::string> train(const std::string& run,
                                 const std::vector<std::string>& more = {}) const {
    return training(data_, folder_ / run, more);
  }

  static std::set<std::string> files(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
    return names;
  }

  TemporaryFolder folder_;
  fs::path data_ = folder_ / "mines.safetensors";
};

TEST_F(RunDirectory, TrainPredictAndReportWorkTogether) {
  Outcome trained = spex(train("run"));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.out.find("roc_auc"), std::string::npos);
  EXPECT_NE(trained.out.find("report.html"), std::string::npos);
  Outcome predicted = spex({"predict", folder_ / "run", "--nodes", "5,7", "--samples", "2"});
  EXPECT_EQ(predicted.code, 0) << predicted.err;
  EXPECT_EQ(std::count(predicted.out.begin(), predicted.out.end(), '\n'), 3);
  fs::remove(folder_ / "run/report.html");
  EXPECT_EQ(spex({"report", folder_ / "run"}).code, 0);
  EXPECT_TRUE(fs::exists(folder_ / "run/report.html"));
  for (const std::string& name : files(folder_ / "run"))
    EXPECT_FALSE(name.ends_with(".partial") || name.starts_with("checkpoint")) << name;
}

TEST_F(RunDirectory, ScoresOfEstimateServeATraining) {
  std::string scores = folder_ / "scores.safetensors";
  auto estimate = train("unused");
  estimate[0] = "estimate";
  estimate[3] = scores;
  ASSERT_EQ(spex(estimate).code, 0);
  Outcome shared = spex(train("shared", {"--scores", scores}));
  EXPECT_EQ(shared.code, 0) << shared.err;
  EXPECT_EQ(spex({"predict", folder_ / "shared", "--nodes", "1"}).code, 0);
  expect_fails(spex(train("other", {"--scores", scores, "--set", "expander.seed=5"})), 1,
               "holds the scores of another graph");
  expect_fails(spex(train("other", {"--scores", data_})), 1, data_);
  expect_fails(
      spex({"train", data_, "--model", "gcn", "--scores", scores, "--out", folder_ / "other"}), 1,
      "gcn draws by no scores");
  EXPECT_FALSE(fs::exists(folder_ / "other"));
}

TEST_F(RunDirectory, ADataSetWithoutEdgesIsTrainedOnItsFeatures) {
  fs::path bare = folder_ / "bare.safetensors";
  Outcome converted = spex({"data", "convert", data_, bare, "--no-edges"});
  ASSERT_EQ(converted.code, 0) << converted.err;
  EXPECT_NE(converted.out.find("900 nodes, 0 edges"), std::string::npos) << converted.out;
  Outcome trained =
      spex(training(bare, folder_ / "run",
                    {"--set", "expander.degree=0", "--set", "spexphormer.sampling=uniform"}));
  EXPECT_EQ(trained.code, 0) << trained.err;
}

TEST_F(RunDirectory, OfAnotherRunIsLeftAlone) {
  ASSERT_EQ(spex(train("run", {"--set", "seeds=1", "--set", "estimator.tries=1"})).code, 0);
  std::string before = read_text(folder_ / "run/model.safetensors");
  auto names = files(folder_ / "run");
  expect_fails(spex(train("run")), 1, "already holds a run");
  expect_fails(spex(train("run", {"--resume"})), 1, "belongs to another configuration: seeds is 1");
  expect_fails(spex(train("none", {"--resume"})), 1, "holds no run to resume");
  EXPECT_EQ(read_text(folder_ / "run/model.safetensors"), before);
  EXPECT_EQ(files(folder_ / "run"), names);
}

TEST_F(RunDirectory, IsReplacedWhereThatIsForced) {
  std::vector<std::string> short_run = {"--set", "seeds=1", "--set", "estimator.tries=1", "-q"};
  Outcome first = spex(train("run", short_run));
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.err, "") << "quiet";
  ASSERT_EQ(spex(train("other", short_run + "--seed" + "7")).code, 0);
  Outcome forced = spex(train("run", short_run + "--seed" + "7" + "--force"));
  ASSERT_EQ(forced.code, 0) << forced.err;
  expect_same_run(folder_ / "other", folder_ / "run");
  ASSERT_EQ(spex({"train", data_, "--out", folder_ / "run", "--force", "--model", "mlp", "--set",
                  "mlp.epochs=2"})
                .code,
            0);
  EXPECT_FALSE(fs::exists(folder_ / "run/estimator.safetensors")) << "of the run before";
}

TEST_F(RunDirectory, IsNotReplacedWhereItIsNoRun) {
  fs::create_directory(folder_ / "mine");
  write_text(folder_ / "mine/metrics.csv", "of another program");
  expect_fails(spex(train("mine", {"--force"})), 1, "metrics.csv");
  write_text(folder_ / "mine/config.toml", "of another program");
  expect_fails(spex(train("mine", {"--force"})), 1, "is not of a run");
  EXPECT_EQ(read_text(folder_ / "mine/metrics.csv"), "of another program");
  EXPECT_EQ(read_text(folder_ / "mine/config.toml"), "of another program");
}

TEST_F(RunDirectory, WithoutANameIsNewAndLatestLeadsToTheNewest) {
  auto here = fs::current_path();
  fs::current_path(folder_.path);
  auto arguments = train("unused", {"--set", "seeds=1", "--set", "estimator.tries=1"});
  arguments.erase(arguments.begin() + 2, arguments.begin() + 4);  // --out
  EXPECT_EQ(spex(arguments).code, 0);
  fs::path first = fs::canonical("runs/latest");
  EXPECT_TRUE(fs::is_symlink("runs/latest"));
  EXPECT_EQ(spex(arguments + "--resume").code, 0);
  EXPECT_EQ(spex(arguments + "--out" + "runs/named").code, 0);
  EXPECT_EQ(fs::canonical("runs/latest"), fs::canonical("runs/named"));
  EXPECT_EQ(spex({"predict", "runs/latest", "--nodes", "3"}).code, 0);
  EXPECT_TRUE(fs::exists(first / "summary.json"));
  EXPECT_EQ(files("runs").size(), 3U);
  fs::current_path(here);
}

TEST_F(RunDirectory, MetricsCanBeFollowed) {
  Program program(train("run", {"--set", "estimator.epochs=100000"}));
  auto rows = [&] {
    if (!fs::exists(folder_ / "run/metrics.csv")) return size_t{0};
    std::string text = read_text(folder_ / "run/metrics.csv");
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  };
  ASSERT_TRUE(program.until([&] { return rows() > 3; })) << "long before the first checkpoint";
  size_t some = rows();
  EXPECT_TRUE(program.until([&] { return rows() > some; }));
}

TEST_F(RunDirectory, NodesMayStandInAFileWithAnyLineEnds) {
  ASSERT_EQ(spex(train("run", {"--set", "seeds=1", "--set", "estimator.tries=1"})).code, 0);
  Outcome expected = spex({"predict", folder_ / "run", "--nodes", "5,7,1"});
  for (const char* text : {"5\n7\n1\n", "5\r\n7\r\n1\r\n", "5\r7\r1", "5\n\n7\n1",
                           "\xEF\xBB\xBF"
                           "5\n7\n1\n"}) {
    write_text(folder_ / "nodes.txt", text);
    EXPECT_EQ(spex({"predict", folder_ / "run", "--nodes", folder_ / "nodes.txt"}).out,
              expected.out);
  }
  for (const char* file : {"scores.safetensors", "attention.safetensors"}) {
    fs::remove(folder_ / "run" / file);
    expect_fails(spex({"predict", folder_ / "run"}), 1, file);
  }
}

TEST_F(RunDirectory, IsForOneProgramAtATime) {
  Program first(train("run", {"--set", "estimator.epochs=100000"}));
  ASSERT_TRUE(first.until([&] { return fs::exists(folder_ / "run/attention.safetensors"); }));
  expect_fails(spex(train("run", {"--set", "estimator.epochs=100000"})), 1,
               "another spex is working on");
  expect_fails(spex(train("run", {"--set", "estimator.epochs=100000", "--resume"})), 1,
               "another spex is working on");
  first.signal(SIGKILL);
  first.wait();
  Program next(train("run", {"--set", "estimator.epochs=100000", "--resume"}));
  EXPECT_TRUE(next.says("estimator seed 0")) << "a dead program holds no lock";
}

TEST_F(RunDirectory, InAReadOnlyFolderIsASentence) {
  Surroundings nobody;
  nobody.as_nobody = true;
  if (spex({"--version"}, nobody).code != 0) GTEST_SKIP() << "others may not run the program";
  fs::create_directory(folder_ / "locked");
  fs::permissions(folder_ / "locked", fs::perms(0555));
  expect_fails(spex(train("locked/run"), nobody), 1, "Permission denied");
  expect_fails(spex(train("locked"), nobody), 1, "Permission denied");
  EXPECT_TRUE(files(folder_ / "locked").empty());
  fs::permissions(folder_ / "locked", fs::perms::owner_all);
}

TEST_F(RunDirectory, UnderAFileIsASentence) {
  expect_fails(spex(train("mines.safetensors/run")), 1, "cannot make the folder");
  expect_fails(spex(train("mines.safetensors")), 1, "mines.safetensors");
}

// Whatever the limit stops, what stands in the folder is whole, and room lets the run go on.
TEST_F(RunDirectory, ThatMeetsTheLargestFileAllowedKeepsOnlyWholeFiles) {
  ASSERT_EQ(spex(train("whole")).code, 0);
  for (size_t kilobytes : {6, 20, 60, 90}) {
    std::string run = "limited" + std::to_string(kilobytes);
    Surroundings limited;
    limited.largest_file = kilobytes << 10;
    expect_fails(spex(train(run, {"--checkpoint-seconds", "0"}), limited), 1, "cannot write");
    for (const std::string& name : files(folder_ / run)) EXPECT_FALSE(name.ends_with(".partial"));
    Outcome resumed = spex(train(run, {"--resume"}));
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    expect_same_run(folder_ / "whole", folder_ / run);
  }
}

TEST_F(RunDirectory, OnAFullDiskIsASentenceAndContinuesWhenThereIsRoom) {
  fs::path disk = folder_ / "disk";
  fs::create_directory(disk);
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=160k") != 0)
    GTEST_SKIP() << "not allowed to mount a small disk";
  Outcome full = spex(train("disk/run", {"--checkpoint-seconds", "0"}));
  ::mount("none", disk.c_str(), "tmpfs", MS_REMOUNT, "size=16m");
  EXPECT_NE(full.err.find("No space left on device"), std::string::npos) << full.err;
  EXPECT_EQ(full.code, 1);
  Outcome resumed = spex(train("disk/run", {"--resume"}));
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  ::umount(disk.c_str());
}

TEST_F(RunDirectory, LossThatIsNoNumberStopsWithASentence) {
  Outcome stopped = spex(train("run", {"--set", "spexphormer.learning_rate=1e30"}));
  expect_fails(stopped, 1, "the spexphormer network's loss is no longer a number in epoch 2 of 30");
  EXPECT_NE(stopped.err.find("first in"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder_ / "run/checkpoint.safetensors"));
  EXPECT_FALSE(fs::exists(folder_ / "run/model.safetensors"));
}

TEST_F(RunDirectory, InterruptedSavesAndResumesToTheSameBytes) {
  ASSERT_EQ(spex(train("whole")).code, 0);
  for (int number : {SIGINT, SIGTERM})
    for (const char* moment : {"estimator seed 0", "spexphormer seed 0", "spexphormer seed 1"}) {
      SCOPED_TRACE(moment);
      std::string run = std::string("run_") + moment + std::to_string(number);
      Program program(train(run));
      ASSERT_TRUE(program.says(moment));
      program.signal(number);
      Outcome stopped = program.wait();
      if (stopped.code == 0) continue;  // the last epochs were quicker than the signal
      expect_fails(stopped, 128 + number, "the same command with --resume continues");
      EXPECT_TRUE(fs::exists(folder_ / run / "checkpoint.safetensors"));
      Outcome resumed = spex(train(run, {"--resume"}));
      EXPECT_EQ(resumed.code, 0) << resumed.err;
      expect_same_run(folder_ / "whole", folder_ / run);
    }
}

// kill -9 at a moment, then the same command with --resume. SPEX_KILL_MOMENTS sets how many.
TEST_F(RunDirectory, KilledAtAnyMomentResumesToTheSameBytes) {
  using Clock = std::chrono::steady_clock;
  const char* wanted = std::getenv("SPEX_KILL_MOMENTS");
  size_t moments = wanted ? std::strtoul(wanted, nullptr, 10) : 3;
  const std::vector<std::vector<std::string>> kinds = {
      {"--checkpoint-seconds", "0.05"},
      {"--checkpoint-seconds", "0", "--set", "spexphormer.batch_size=200"}};
  std::vector<std::chrono::duration<double>> lengths;
  for (size_t k = 0; k < kinds.size(); ++k) {
    auto start = Clock::now();
    ASSERT_EQ(spex(train("whole" + std::to_string(k), kinds[k])).code, 0);
    lengths.push_back(Clock::now() - start);
  }
  for (size_t i = 0; i < moments; ++i) {
    size_t kind = i % kinds.size();
    double share = std::fmod(0.31 + 0.618034 * static_cast<double>(i), 1.0);
    SCOPED_TRACE("killed after " + std::to_string(share) + " of a run of kind " +
                 std::to_string(kind));
    fs::path run = folder_ / ("killed" + std::to_string(i));
    auto arguments = train(run.filename(), kinds[kind]);
    Program program(arguments);
    std::this_thread::sleep_for(share * lengths[kind]);
    program.signal(SIGKILL);
    program.wait();
    if (fs::exists(run / "config.toml")) arguments.push_back("--resume");
    Outcome resumed = spex(arguments);
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    expect_same_run(folder_ / ("whole" + std::to_string(kind)), run);
    EXPECT_EQ(files(run), files(folder_ / ("whole" + std::to_string(kind))));
    fs::remove_all(run);
  }
}

}  // namespace
}  // namespace spex
