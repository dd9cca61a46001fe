#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/core/log.h>
#include <spex/core/threads.h>

#include <atomic>

namespace spex {
namespace {

class Threads : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_threads(GetParam()); }
  void TearDown() override { set_threads(0); }
};

TEST_P(Threads, EveryItemIsVisitedOnce) {
  std::vector<std::atomic<int>> seen(1001);
  parallel_for(seen.size(), 10, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) ++seen[i];
  });
  for (auto& count : seen) EXPECT_EQ(count, 1);
}

TEST_P(Threads, TheExceptionOfTheLowestBlockReachesTheCaller) {
  try {
    parallel_blocks(100, [](size_t block) { require(block < 40, "block {}", block); });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "block 40");
  }
}

TEST_P(Threads, NestedLoopsRunInTheirThread) {
  std::atomic<int> sum = 0;
  parallel_blocks(4, [&](size_t) { parallel_blocks(5, [&](size_t) { ++sum; }); });
  EXPECT_EQ(sum, 20);
}

TEST_P(Threads, SumsDoNotDependOnTheThreadCount) {
  auto sum = [] {
    return parallel_sum(100000, 128, 0.0F, [](size_t begin, size_t end) {
      float part = 0;
      for (size_t i = begin; i < end; ++i) part += 1.0F / static_cast<float>(i + 1);
      return part;
    });
  };
  float here = sum();
  set_threads(1);
  EXPECT_EQ(here, sum());
}

TEST(UseThreads, AreNeverMoreThanTheCpusAndTheLogSaysSo) {
  std::string said;
  set_log_sink([&](std::string_view line) { said += line; });
  auto cpus = static_cast<size_t>(usable_cpus());
  EXPECT_EQ(use_threads(0), cpus);
  EXPECT_EQ(use_threads(1), 1U);
  EXPECT_EQ(use_threads(cpus), cpus);
  EXPECT_EQ(said, "");
  for (size_t wanted : {cpus + 1, size_t{9999}, size_t{1} << 32U}) {
    said.clear();
    EXPECT_EQ(use_threads(wanted), cpus);
    EXPECT_NE(said.find(fmt::format("in place of {}", wanted)), std::string::npos) << said;
  }
  set_log_sink({});
  set_threads(0);
}

INSTANTIATE_TEST_SUITE_P(OneTwoAndMore, Threads, testing::Values(1, 2, 5));

}  // namespace
}  // namespace spex
