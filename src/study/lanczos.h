// The largest eigenvalue of a symmetric operator that is known by what it does to a vector.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace spex {

using Operator = std::function<void(std::span<double> out, std::span<const double> in)>;

struct LanczosOptions {
  size_t most_steps = 300;
  double tolerance = 1e-6;           // of the value, relative
  std::vector<double> without = {};  // an eigenvector of length 1 to leave out; empty: none
};
double largest_eigenvalue(size_t size, const Operator& apply, const LanczosOptions& options = {});

}  // namespace spex
