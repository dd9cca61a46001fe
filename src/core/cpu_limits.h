// How many CPUs a process may use, apart from how many the machine has.
#pragma once

#include <filesystem>
#include <limits>
#include <string_view>

namespace spex {

inline constexpr double kNoCpuLimit = std::numeric_limits<double>::infinity();

// The tightest CPU quota of the control groups a process belongs to, in CPUs. `membership` is what
// /proc/self/cgroup says, `root` where the groups are mounted (/sys/fs/cgroup); versions 1 and 2.
// Groups that cannot be read set no limit: inside a container the outer ones are out of sight.
double cgroup_cpu_limit(std::string_view membership, const std::filesystem::path& root);

// The affinity mask and the quota of this process together, at least 1.
int count_usable_cpus();

}  // namespace spex
