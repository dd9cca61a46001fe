#include "core/cpu_limits.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <spex/core/threads.h>

#include <fstream>

#include "folder.h"

namespace spex {
namespace {

class CpuLimits : public testing::Test {
 protected:
  void write(const std::string& group, const std::string& file, const std::string& text) {
    std::filesystem::create_directories(folder_ / group);
    std::ofstream(folder_ / group / file) << text << "\n";
  }
  double limit(const std::string& membership) { return cgroup_cpu_limit(membership, folder_.path); }

 private:
  testing_support::TemporaryFolder folder_;
};

TEST_F(CpuLimits, AreAbsentWithoutGroups) {
  EXPECT_EQ(limit(""), kNoCpuLimit);
  EXPECT_EQ(limit("0::/\n"), kNoCpuLimit);
  EXPECT_EQ(limit("nonsense\n0::/gone/away\n"), kNoCpuLimit);
}

TEST_F(CpuLimits, OfVersionTwoAreQuotaByPeriod) {
  write(".", "cpu.max", "150000 100000");
  EXPECT_EQ(limit("0::/\n"), 1.5);
  write(".", "cpu.max", "max 100000");
  EXPECT_EQ(limit("0::/\n"), kNoCpuLimit);
}

TEST_F(CpuLimits, OfAParentBindItsChildren) {
  write(".", "cpu.max", "max 100000");
  write("box", "cpu.max", "200000 100000");
  write("box/inner", "cpu.max", "800000 100000");
  EXPECT_EQ(limit("0::/box/inner\n"), 2);
  EXPECT_EQ(limit("0::/other\n"), kNoCpuLimit);
}

TEST_F(CpuLimits, OfVersionOneAreReadFromTheCpuController) {
  write("cpu,cpuacct/box", "cpu.cfs_quota_us", "50000");
  write("cpu,cpuacct/box", "cpu.cfs_period_us", "100000");
  EXPECT_EQ(limit("5:cpuset:/box\n4:cpu,cpuacct:/box\n0::/\n"), 0.5);
  write("cpu,cpuacct/box", "cpu.cfs_quota_us", "-1");
  EXPECT_EQ(limit("4:cpu,cpuacct:/box\n"), kNoCpuLimit);
}

TEST_F(CpuLimits, OfVersionOneInAContainerThatSeesItsOwnGroupAsTheRoot) {
  write("cpu", "cpu.cfs_quota_us", "300000");
  write("cpu", "cpu.cfs_period_us", "100000");
  EXPECT_EQ(limit("4:cpu,cpuacct:/docker/0123\n"), 3);
}

TEST(UsableCpus, FollowTheAffinityMask) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(count_usable_cpus(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_LE(usable_cpus(), CPU_COUNT(&before));
  EXPECT_GE(usable_cpus(), 1);
}

}  // namespace
}  // namespace spex
