// What changes from epoch to epoch. Epochs count from 0.
#pragma once

#include <cstddef>

namespace spex {

// Rises linearly over the first `warmup` epochs, then falls as a half cosine to 0 at `epochs`.
struct CosineSchedule {
  double base = 0;
  size_t warmup = 0;
  size_t epochs = 0;
  double rate(size_t epoch) const;
};

// T = 1 before epoch lambda, then max(gamma^(epoch - lambda), minimum).
struct TemperatureSchedule {
  size_t lambda = 5;
  double gamma = 0.99;
  double minimum = 0.05;
  double at(size_t epoch) const;
};

}  // namespace spex
