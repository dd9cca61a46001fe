#include "core/cpu_limits.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace spex {
namespace {

namespace fs = std::filesystem;

double quotient(double quota, double period) {
  return quota > 0 && period > 0 ? quota / period : kNoCpuLimit;
}

// Version 2 keeps "QUOTA PERIOD" or "max PERIOD" in one file, version 1 a number in each of two,
// the quota being -1 where there is none.
double limit_of_group(const fs::path& group) {
  double quota = 0, period = 0;
  if (std::ifstream(group / "cpu.max") >> quota >> period) return quotient(quota, period);
  std::ifstream(group / "cpu.cfs_quota_us") >> quota;
  std::ifstream(group / "cpu.cfs_period_us") >> period;
  return quotient(quota, period);
}

// A group is bound by its parents' limits, too.
double limit_up_to(const fs::path& root, std::string_view group) {
  double limit = limit_of_group(root);
  fs::path path = root;
  for (const fs::path& part : fs::path(group).relative_path())
    limit = std::min(limit, limit_of_group(path /= part));
  return limit;
}

bool has_word(std::string_view list, std::string_view word) {
  std::istringstream words{std::string(list)};
  for (std::string each; std::getline(words, each, ',');)
    if (each == word) return true;
  return false;
}

int count_affinity() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::thread::hardware_concurrency());  // more CPUs than the mask holds
}

}  // namespace

double cgroup_cpu_limit(std::string_view membership, const fs::path& root) {
  double limit = kNoCpuLimit;
  std::istringstream lines{std::string(membership)};
  for (std::string line; std::getline(lines, line);) {  // NUMBER:CONTROLLERS:GROUP
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !has_word(controllers, "cpu")) continue;
    fs::path mount = controllers.empty() ? root : root / controllers;
    if (!controllers.empty() && !fs::exists(mount)) mount = root / "cpu";
    limit = std::min(limit, limit_up_to(mount, line.substr(second + 1)));
  }
  return limit;
}

int count_usable_cpus() {
  std::ifstream file("/proc/self/cgroup");
  std::stringstream membership;
  membership << file.rdbuf();
  double quota = std::ceil(cgroup_cpu_limit(membership.str(), "/sys/fs/cgroup"));
  int cpus = std::max(1, count_affinity());
  return quota < cpus ? std::max(1, static_cast<int>(quota)) : cpus;
}

}  // namespace spex
