#include <spex/train/schedule.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace spex {

double CosineSchedule::rate(size_t epoch) const {
  auto ratio = [](size_t a, size_t b) { return static_cast<double>(a) / static_cast<double>(b); };
  if (epoch < warmup) return base * std::max(1e-6, ratio(epoch, warmup));
  if (epoch >= epochs) return 0.0;
  double progress = ratio(epoch - warmup, epochs - warmup);
  return base * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
}

double TemperatureSchedule::at(size_t epoch) const {
  if (epoch < lambda) return 1.0;
  return std::max(std::pow(gamma, static_cast<double>(epoch - lambda)), minimum);
}

}  // namespace spex
