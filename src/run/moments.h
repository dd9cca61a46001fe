// Mean and standard deviation of what several seeds or splits gave.
#pragma once

#include <cmath>
#include <vector>

namespace spex {

struct Moments {
  double mean = 0, deviation = 0;  // n - 1 in the denominator; 0 for one number
  double error = 0;                // of the mean
};

inline Moments moments(const std::vector<double>& values) {
  Moments m;
  auto count = static_cast<double>(values.size());
  for (double value : values) m.mean += value / count;
  for (double value : values) m.deviation += std::pow(value - m.mean, 2);
  m.deviation = values.size() > 1 ? std::sqrt(m.deviation / (count - 1)) : 0.0;
  m.error = values.empty() ? 0.0 : m.deviation / std::sqrt(count);
  return m;
}

}  // namespace spex
